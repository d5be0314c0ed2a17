/* call: getsockopt, setsockopt; covers: options of TCP and IP, each by itself */
#include "check.h"
#include <netinet/in.h>
#include <netinet/tcp.h>

static void get(int fd, int level, int option)
{
    int value = -1;
    socklen_t size = sizeof value;
    int got = getsockopt(fd, level, option, &value, &size);
    say("%d %d: %d %d %u\n", level, option, got, value, size);
}

int main(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, tos = 0x10, large = 600;
    char name[32] = "", byte = 8;
    socklen_t size = sizeof name;
    int options[] = {TCP_NODELAY, TCP_CORK, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, TCP_USER_TIMEOUT};
    for (int i = 0; i < 6; i++)
        get(fd, IPPROTO_TCP, options[i]);
    get(fd, IPPROTO_IP, IP_TOS);
    get(fd, IPPROTO_IP, IP_TTL);
    get(fd, IPPROTO_IP, IP_MTU_DISCOVER);
    get(fd, IPPROTO_IP, IP_OPTIONS);
    SHOW(setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof tos));
    get(fd, IPPROTO_TCP, TCP_NODELAY);
    get(fd, IPPROTO_IP, IP_TOS);
    SHOW(setsockopt(fd, IPPROTO_IP, IP_TOS, &byte, 1));
    get(fd, IPPROTO_IP, IP_TOS);
    SHOW(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &large, sizeof large));
    get(fd, IPPROTO_TCP, TCP_NODELAY);
    SHOW(setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &large, sizeof large));
    get(fd, IPPROTO_TCP, TCP_KEEPIDLE);
    SHOW(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, 2));
    SHOW(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size));
    say("%u\n", size);
    int wrong[] = {0, 256, 40000, -1};
    for (int i = 0; i < 4; i++) {
        SHOW(setsockopt(fd, IPPROTO_IP, IP_TTL, &wrong[i], sizeof wrong[i]));
        SHOW(setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &wrong[i], sizeof wrong[i]));
        SHOW(setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &wrong[i], sizeof wrong[i]));
        get(fd, IPPROTO_IP, IP_TTL);
    }
    int datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    get(datagrams, IPPROTO_TCP, TCP_NODELAY);
    SHOW(setsockopt(datagrams, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one));
    int six = socket(AF_INET6, SOCK_STREAM, 0);
    get(six, IPPROTO_IPV6, IPV6_TCLASS);
    SHOW(setsockopt(six, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof tos));
    get(six, IPPROTO_IPV6, IPV6_TCLASS);
    get(six, IPPROTO_IPV6, IPV6_UNICAST_HOPS);
    return 0;
}
