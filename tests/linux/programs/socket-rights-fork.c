/* call: sendmsg, recvmsg, fork; covers: a pipe's end goes to another process */
#include "check.h"

static int pair[2];

static void child(void)
{
    char control[CMSG_SPACE(sizeof(int))], byte;
    struct iovec piece = {&byte, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    int fd;
    SHOW(recvmsg(pair[1], &message, 0));
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    SHOW(write(fd, "from the child", 14));
}

int main(void)
{
    int ends[2];
    char control[CMSG_SPACE(sizeof(int))] = "", text[20] = "";
    struct iovec piece = {"x", 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
    pid_t id = make_child(child);
    pipe(ends);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &ends[1], sizeof(int));
    sendmsg(pair[0], &message, 0);
    wait_for(id);
    close(ends[1]);
    SHOW(read(ends[0], text, 20));
    SHOW(read(ends[0], text, 20));
    return 0;
}
