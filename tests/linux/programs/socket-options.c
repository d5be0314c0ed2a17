/* call: getsockopt, setsockopt; covers: types, errors, buffers, timeouts */
#include "check.h"

int main(void)
{
    int pair[2], value = 0;
    char byte;
    socklen_t size = sizeof value;
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    SHOW(getsockopt(pair[0], SOL_SOCKET, SO_TYPE, &value, &size));
    say("%d\n", value);
    SHOW(getsockopt(pair[0], SOL_SOCKET, SO_DOMAIN, &value, &size));
    say("%d\n", value);
    SHOW(getsockopt(pair[0], SOL_SOCKET, SO_ERROR, &value, &size));
    say("%d\n", value);
    SHOW(getsockopt(pair[0], SOL_SOCKET, SO_ACCEPTCONN, &value, &size));
    say("%d\n", value);
    SHOW(getsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &value, &size));
    HOLDS(value > 4096);
    struct timeval limit = {0, 20000};
    SHOW(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
    SHOW(read(pair[0], &byte, 1));
    SHOW(getsockopt(pair[0], SOL_SOCKET, 9999, &value, &size));
    SHOW(getsockopt(0, SOL_SOCKET, SO_TYPE, &value, &size));
    SHOW(getsockopt(pair[0], SOL_SOCKET, SO_TYPE, &value, (socklen_t *)8));
    SHOW(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &value, 1));
    return 0;
}
