/* call: recvmsg, sendmsg; covers: IP_PKTINFO, IP_RECVTTL, IP_RECVTOS and those of version 6 */
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>

static int on(int fd, int level, int option)
{
    int one = 7, value = -1;
    socklen_t size = sizeof value;
    int done = setsockopt(fd, level, option, &one, sizeof one);
    getsockopt(fd, level, option, &value, &size);
    say("%d %d: %d %d\n", level, option, done, value);
    return done;
}

static void receive(int fd, int room)
{
    char data[16], control[256];
    struct iovec piece = {data, sizeof data};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = room};
    SHOW(recvmsg(fd, &message, 0));
    say("flags %x, control %u\n", message.msg_flags, (unsigned)message.msg_controllen);
    for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); at; at = CMSG_NXTHDR(&message, at)) {
        unsigned size = at->cmsg_len - CMSG_LEN(0);
        say("level %d, type %d, %u bytes:", at->cmsg_level, at->cmsg_type, size);
        for (unsigned i = 0; i < size && i < 32; i++)
            say(" %02x", CMSG_DATA(at)[i]);
        say("\n");
    }
}

static void version_4(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0), client = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;
    SHOW(bind(fd, (struct sockaddr *)&at, size));
    SHOW(getsockname(fd, (struct sockaddr *)&at, &size));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    SHOW(sendto(client, "a", 1, 0, (struct sockaddr *)&at, size));
    receive(fd, 256);
    on(fd, IPPROTO_IP, IP_PKTINFO);
    on(fd, IPPROTO_IP, IP_RECVTTL);
    on(fd, IPPROTO_IP, IP_RECVTOS);
    int rooms[] = {256, 88, 60, 40, 20, 16, 8, 0};
    for (int i = 0; i < 8; i++) {
        SHOW(sendto(client, "bc", 2, 0, (struct sockaddr *)&at, size));
        receive(fd, rooms[i]);
    }
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(struct in_pktinfo))];
    } control = {.head = {CMSG_LEN(sizeof(struct in_pktinfo)), IPPROTO_IP, IP_PKTINFO}};
    ((struct in_pktinfo *)CMSG_DATA(&control.head))->ipi_spec_dst.s_addr = htonl(INADDR_LOOPBACK);
    struct iovec piece = {"def", 3};
    struct msghdr message = {.msg_name = &at, .msg_namelen = size, .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    SHOW(sendmsg(client, &message, 0));
    receive(fd, 256);
}

static void version_6(void)
{
    int fd = socket(AF_INET6, SOCK_DGRAM, 0), client = socket(AF_INET6, SOCK_DGRAM, 0);
    struct sockaddr_in6 at = {.sin6_family = AF_INET6};
    socklen_t size = sizeof at;
    on(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO);
    on(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT);
    on(fd, IPPROTO_IPV6, IPV6_RECVTCLASS);
    SHOW(bind(fd, (struct sockaddr *)&at, size));
    SHOW(getsockname(fd, (struct sockaddr *)&at, &size));
    at.sin6_addr = in6addr_loopback;
    SHOW(sendto(client, "a", 1, 0, (struct sockaddr *)&at, size));
    receive(fd, 256);
    SHOW(sendto(client, "a", 1, 0, (struct sockaddr *)&at, size));
    receive(fd, 50);
    int four = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = at.sin6_port};
    SHOW(sendto(four, "b", 1, 0, (struct sockaddr *)&there, sizeof there));
    receive(fd, 256);
}

int main(void)
{
    version_4();
    version_6();
    return 0;
}
