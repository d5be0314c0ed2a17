/* call: accept; covers: options of the listener that an accepted socket has */
#include "check.h"
#include <netinet/in.h>
#include <netinet/tcp.h>

static void show(int fd, int level, int option)
{
    int value[4] = {-1, -1, -1, -1};
    socklen_t size = sizeof value;
    int got = getsockopt(fd, level, option, value, &size);
    say("%d %d: %d %u %d %d\n", level, option, got, size, value[0], value[1]);
}

int main(void)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct linger linger = {1, 7};
    struct timeval limit = {3, 0};
    int one = 1, idle = 77, tos = 0x10;
    socklen_t size = sizeof own;
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    bind(listener, (struct sockaddr *)&own, sizeof own);
    getsockname(listener, (struct sockaddr *)&own, &size);
    SHOW(setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one));
    SHOW(setsockopt(listener, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle));
    SHOW(setsockopt(listener, IPPROTO_IP, IP_TOS, &tos, sizeof tos));
    SHOW(setsockopt(listener, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one));
    SHOW(setsockopt(listener, SOL_SOCKET, SO_LINGER, &linger, sizeof linger));
    SHOW(setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
    SHOW(listen(listener, 1));
    SHOW(connect(client, (struct sockaddr *)&own, sizeof own));
    int accepted = accept(listener, NULL, NULL);
    show(accepted, IPPROTO_TCP, TCP_NODELAY);
    show(accepted, IPPROTO_TCP, TCP_KEEPIDLE);
    show(accepted, SOL_SOCKET, SO_KEEPALIVE);
    show(accepted, SOL_SOCKET, SO_LINGER);
    show(accepted, SOL_SOCKET, SO_RCVTIMEO);
    show(accepted, SOL_SOCKET, SO_ERROR);
    show(client, IPPROTO_TCP, TCP_NODELAY);
    return 0;
}
