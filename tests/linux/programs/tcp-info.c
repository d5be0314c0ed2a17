/* call: getsockopt, ioctl; covers: TCP_INFO, TCP_MAXSEG, TCP_CONGESTION, SIOCOUTQ */
#include "check.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#define OUTQ 0x5411

static unsigned word(const unsigned char *info, int at)
{
    unsigned value;
    memcpy(&value, info + at, 4);
    return value;
}

static void info(int fd)
{
    unsigned char bytes[400];
    socklen_t size = sizeof bytes;
    memset(bytes, 0xee, sizeof bytes);
    SHOW(getsockopt(fd, IPPROTO_TCP, TCP_INFO, bytes, &size));
    say("state %d, %s, window %u, reordering %u\n", bytes[0], size >= 232 ? "whole" : "short", word(bytes, 80), word(bytes, 88));
    say("segment %s, packet %u, received %u, without an answer %u, lost %u\n", word(bytes, 16) > 30000 ? "large" : word(bytes, 16) == 536 ? "536" : "none", word(bytes, 60), word(bytes, 20), word(bytes, 24), word(bytes, 32));
    int largest = -1, queue = -1;
    size = sizeof largest;
    SHOW(getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &largest, &size));
    say("largest %s\n", largest > 30000 ? "large" : largest == 536 ? "536" : "another");
    SHOW(ioctl(fd, OUTQ, &queue));
    say("queue %d\n", queue);
}

static void congestion(const char *wanted)
{
    char name[32] = "";
    socklen_t size = sizeof name;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    SHOW(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, wanted, strlen(wanted)));
    SHOW(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size));
    say("%s: %s %u\n", wanted, name, size);
    close(fd);
}

int main(void)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    info(listener);
    SHOW(bind(listener, (struct sockaddr *)&at, size));
    SHOW(listen(listener, 4));
    SHOW(getsockname(listener, (struct sockaddr *)&at, &size));
    info(listener);
    SHOW(connect(client, (struct sockaddr *)&at, size));
    int server = accept(listener, 0, 0);
    info(client);
    info(server);
    SHOW(write(client, "bytes", 5));
    nap(50);
    int queue = -1;
    SHOW(ioctl(client, OUTQ, &queue));
    say("queue %d\n", queue);
    int sizes[] = {0, 87, 88, 1000, 32767, 32768, -1};
    for (int i = 0; i < 7; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0), largest = -1;
        SHOW(setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &sizes[i], sizeof sizes[i]));
        size = sizeof largest;
        getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &largest, &size);
        say("%d: %d\n", sizes[i], largest);
        close(fd);
    }
    congestion("cubic");
    congestion("reno");
    congestion("nobody");
    congestion("");
    int datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    SHOW(ioctl(datagrams, OUTQ, &queue));
    return 0;
}
