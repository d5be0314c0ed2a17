/* call: socket, recvmsg; covers: echoes of the machine itself by datagrams and by raw sockets, with numbers, hops, times, limits of time and refusals */
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <sys/time.h>

static struct sockaddr_in at(const char *address, int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {inet_addr(address)}, .sin_port = htons(port)};
}

static unsigned short sum(const void *data, int size)
{
    const unsigned char *bytes = data;
    unsigned total = 0;
    for (int i = 0; i < size; i += 2)
        total += bytes[i] << 8 | (i + 1 < size ? bytes[i + 1] : 0);
    while (total >> 16)
        total = (total & 0xffff) + (total >> 16);
    return htons(~total & 0xffff);
}

/* Receives one message and says what it is, and what came beside it. */
static void hear(int fd)
{
    char text[256], beside[256];
    struct sockaddr_in from = {0};
    struct iovec piece = {text, sizeof text};
    struct msghdr header = {.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &piece, .msg_iovlen = 1, .msg_control = beside, .msg_controllen = sizeof beside};
    long size = recvmsg(fd, &header, 0);
    SHOW(size);
    if (size < 0)
        return;
    say("from %s port %d name %d flags %d\n", inet_ntoa(from.sin_addr), ntohs(from.sin_port), header.msg_namelen, header.msg_flags);
    for (struct cmsghdr *one = CMSG_FIRSTHDR(&header); one; one = CMSG_NXTHDR(&header, one)) {
        say("beside: level %d type %d size %d\n", one->cmsg_level, one->cmsg_type, (int)one->cmsg_len);
        if (one->cmsg_level == IPPROTO_IP)
            say("hops %d\n", *(int *)CMSG_DATA(one));
    }
    char *message = text;
    if (size >= 20 && (text[0] & 0xf0) == 0x40) {
        say("head: hops %d protocol %d size %d sum %d\n", text[8], text[9], (unsigned char)text[2] << 8 | (unsigned char)text[3], sum(text, 20));
        message += 20, size -= 20;
    }
    struct icmphdr *head = (void *)message;
    say("type %d code %d sequence %d sum %d rest %.*s\n", head->type, head->code, ntohs(head->un.echo.sequence), sum(message, size), (int)size - 8, message + 8);
}

static void by_datagrams(void)
{
    int limits = open("/proc/sys/net/ipv4/ping_group_range", O_WRONLY);
    if (limits >= 0 && write(limits, "0 2147483647", 12) < 0)
        say("nobody may ask\n");
    close(limits);
    int fd = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP), other = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);
    SHOW(fd >= 0 && other >= 0);
    int value = 0;
    socklen_t size = sizeof value;
    SHOW(getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &value, &size));
    SHOW(value);
    SHOW(getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &size));
    SHOW(value);
    struct sockaddr_in own = at("0.0.0.0", 4711), there = at("127.0.0.1", 0), another = at("0.0.0.0", 4712);
    size = sizeof own;
    SHOW(bind(fd, (void *)&own, size));
    SHOW(bind(fd, (void *)&own, size));
    SHOW(bind(other, (void *)&another, size));
    SHOW(getsockname(fd, (void *)&own, &size));
    SHOW(ntohs(own.sin_port));
    SHOW(getpeername(fd, (void *)&own, &size));
    struct timeval limit = {0, 100000};
    SHOW(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
    hear(fd);
    struct { struct icmphdr head; char text[5]; } echo = {{.type = ICMP_ECHO, .un.echo = {htons(9), htons(1)}}, "hello"};
    SHOW(send(fd, &echo, sizeof echo.head + 5, 0));
    SHOW(sendto(fd, &echo, 7, 0, (void *)&there, sizeof there));
    SHOW(sendto(fd, &echo, sizeof echo.head + 5, 0, (void *)&there, sizeof there));
    hear(fd);
    int on = 1, hops = 7;
    SHOW(setsockopt(fd, IPPROTO_IP, IP_RECVTTL, &on, sizeof on));
    SHOW(setsockopt(fd, SOL_SOCKET, SO_TIMESTAMP, &on, sizeof on));
    SHOW(setsockopt(fd, IPPROTO_IP, IP_TTL, &hops, sizeof hops));
    echo.head.un.echo.sequence = htons(2);
    there = at("127.0.0.9", 0);
    SHOW(sendto(fd, &echo, sizeof echo.head + 5, 0, (void *)&there, sizeof there));
    hear(fd);
    SHOW(connect(fd, (void *)&there, sizeof there));
    SHOW(send(fd, &echo, sizeof echo.head, 0));
    SHOW(recv(fd, &echo, sizeof echo, 0));
    SHOW(ntohs(echo.head.un.echo.id));
    SHOW(recv(other, &echo, sizeof echo, MSG_DONTWAIT));
    echo.head.type = ICMP_TIMESTAMP;
    SHOW(send(fd, &echo, sizeof echo.head, 0));
    SHOW(close(fd));
    SHOW(close(other));
}

static void by_raw_sockets(void)
{
    int fd = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), deaf = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
    SHOW(fd >= 0);
    int value = 0;
    socklen_t size = sizeof value;
    SHOW(getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &size));
    SHOW(value);
    struct timeval limit = {0, 100000};
    SHOW(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
    struct sockaddr_in own = at("127.0.0.1", 0), there = at("127.0.0.1", 0), elsewhere = at("127.0.0.5", 0);
    SHOW(connect(deaf, (void *)&elsewhere, sizeof elsewhere));
    size = sizeof own;
    struct { struct icmphdr head; char text[5]; } echo = {{.type = ICMP_ECHO, .un.echo = {htons(9), htons(1)}}, "again"};
    SHOW(sendto(fd, &echo, sizeof echo.head + 5, 0, (void *)&there, sizeof there));
    hear(fd);
    hear(fd); /* Its sum is wrong: nobody answers. */
    echo.head.checksum = sum(&echo, sizeof echo.head + 5);
    SHOW(sendto(fd, &echo, sizeof echo.head + 5, 0, (void *)&there, sizeof there));
    hear(fd);
    hear(fd);
    hear(fd);
    SHOW(recv(deaf, &echo, sizeof echo, MSG_DONTWAIT));
    SHOW(getsockname(fd, (void *)&own, &size));
    say("own %s port %d\n", inet_ntoa(own.sin_addr), ntohs(own.sin_port));
    SHOW(bind(fd, (void *)&there, sizeof there));
    there = at("192.0.2.1", 0);
    SHOW(bind(fd, (void *)&there, sizeof there));
    SHOW(listen(fd, 1));
    close(fd);
    close(deaf);
    HOLDS(setuid(1000) == 0);
    SHOW(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
}

int main(void)
{
    by_datagrams();
    by_raw_sockets();
    return 0;
}
