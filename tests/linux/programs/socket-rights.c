/* call: sendmsg, recvmsg; covers: a descriptor goes through a socket; also: musl dynamic */
#include "check.h"

static int pair[2];

static void send_descriptor(int fd)
{
    char control[CMSG_SPACE(sizeof fd)] = "";
    struct iovec piece = {"x", 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    SHOW(sendmsg(pair[0], &message, 0));
}

static int receive_descriptor(void)
{
    char control[100], byte;
    struct iovec piece = {&byte, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    int fd = -1;
    SHOW(recvmsg(pair[1], &message, MSG_CMSG_CLOEXEC));
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header)
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}

int main(void)
{
    char text[10] = "";
    put_file("f", "through");
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    int fd = open("f", O_RDONLY);
    read(fd, text, 2);
    send_descriptor(fd);
    close(fd);
    int received = receive_descriptor();
    SHOW(received);
    SHOW(fcntl(received, F_GETFD));
    SHOW(read(received, text, 9));
    say("%s\n", text);
    return 0;
}
