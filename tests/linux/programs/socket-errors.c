/* call: socket, socketpair; covers: families, types and protocols that are not there */
#include "check.h"

int main(void)
{
    int pair[2];
    SHOW(socket(AF_UNIX, SOCK_STREAM, 0));
    SHOW(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    SHOW(fcntl(4, F_GETFD));
    SHOW(fcntl(4, F_GETFL) & O_NONBLOCK);
    SHOW(socket(AF_UNIX, SOCK_STREAM, 99));
    SHOW(socket(AF_UNIX, 99, 0));
    SHOW(socket(99, SOCK_STREAM, 0));
    SHOW(socket(AF_UNIX, SOCK_RDM, 0));
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 0, (int *)8));
    SHOW(socketpair(AF_INET, SOCK_STREAM, 0, pair));
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 1, pair));
    return 0;
}
