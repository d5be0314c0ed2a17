/* call: sendmsg, recvmsg; covers: several descriptors, too little room, bad ones */
#include "check.h"

int main(void)
{
    int pair[2], files[3], got[3];
    char control[CMSG_SPACE(sizeof files)] = "", byte;
    struct iovec piece = {"x", 1}, place = {&byte, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    for (int index = 0; index < 3; index++)
        files[index] = open("/dev/null", O_RDONLY);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof files);
    memcpy(CMSG_DATA(header), files, sizeof files);
    SHOW(sendmsg(pair[0], &message, 0));
    SHOW(sendmsg(pair[0], &message, 0));
    files[1] = 99;
    memcpy(CMSG_DATA(header), files, sizeof files);
    SHOW(sendmsg(pair[0], &message, 0));
    message.msg_iov = &place;
    SHOW(recvmsg(pair[1], &message, 0));
    memcpy(got, CMSG_DATA(header), sizeof got);
    say("%d %d %d\n", got[0], got[1], got[2]);
    message.msg_controllen = CMSG_SPACE(sizeof(int));
    SHOW(recvmsg(pair[1], &message, 0));
    say("flags %#x\n", message.msg_flags);
    return 0;
}
