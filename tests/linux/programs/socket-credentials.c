/* call: getsockopt, sendmsg, recvmsg; covers: SO_PEERCRED and SCM_CREDENTIALS */
#include "check.h"

int main(void)
{
    int pair[2], on = 1;
    struct ucred peer;
    socklen_t size = sizeof peer;
    char control[100], byte;
    struct iovec piece = {&byte, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    SHOW(getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &peer, &size));
    HOLDS(peer.pid == getpid() && peer.uid == 0 && peer.gid == 0);
    SHOW(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on));
    SHOW(write(pair[0], "x", 1));
    SHOW(recvmsg(pair[1], &message, 0));
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    HOLDS(header && header->cmsg_type == SCM_CREDENTIALS);
    if (header)
        memcpy(&peer, CMSG_DATA(header), sizeof peer);
    HOLDS(peer.pid == getpid());
    return 0;
}
