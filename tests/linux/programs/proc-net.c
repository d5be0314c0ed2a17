/* call: open, read; covers: the tables of sockets, interfaces and routes in /proc/net, with the numbers that fstat tells; also: musl */
#include "check.h"
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

static char text[65536];

static char *whole(const char *path)
{
    int file = open(path, O_RDONLY), size = 0, count;
    while (file >= 0 && size < (int)sizeof text - 1 && (count = read(file, text + size, sizeof text - 1 - size)) > 0)
        size += count;
    text[size] = 0;
    close(file);
    return text;
}

static unsigned long inode(int file)
{
    struct stat status = {0};
    fstat(file, &status);
    return status.st_ino;
}

/* Shows the lines of the sockets at a port of ours: all that is the same on every run. */
static void show(const char *path, const char *port, int file)
{
    say("%s\n", path);
    for (char *line = strtok(whole(path), "\n"); line; line = strtok(0, "\n")) {
        char own[40], other[40], state[8], queues[40];
        unsigned long number = 0;
        int uid = 0;
        if (sscanf(line, " %*d: %39s %39s %7s %39s %*s %*s %d %*s %lu", own, other, state, queues, &uid, &number) != 6 || !strstr(own, port))
            continue;
        say("%s from %s state %s queues %s user %d, %s\n", own, strstr(other, ":0000") ? other : "another", state, queues, uid, number == inode(file) ? "this one" : "another one");
    }
}

static int at_port(int family, int kind, int port)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int plug = socket(family, kind, 0);
    if (family == AF_INET)
        SHOW(bind(plug, (void *)&four, sizeof four));
    else
        SHOW(bind(plug, (void *)&six, sizeof six));
    return plug;
}

int main(void)
{
    alarm(20);
    struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING};
    ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFFLAGS, &up);
    int listener = at_port(AF_INET, SOCK_STREAM, 0x1a0b), six = at_port(AF_INET6, SOCK_STREAM, 0x1a0c);
    show("/proc/net/tcp", "0100007F:1A0B", listener);
    SHOW(listen(listener, 7));
    SHOW(listen(six, 7));
    show("/proc/net/tcp", "0100007F:1A0B", listener);
    show("/proc/net/tcp6", ":1A0C", six);

    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(0x1a0b), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int client = socket(AF_INET, SOCK_STREAM, 0);
    SHOW(connect(client, (void *)&to, sizeof to));
    int server = accept(listener, 0, 0);
    SHOW(write(client, "seven b", 7));
    close(listener);
    show("/proc/net/tcp", "0100007F:1A0B", server);
    show("/proc/self/net/tcp", "0100007F:1A0B", server);

    int datagrams = at_port(AF_INET, SOCK_DGRAM, 0x1a0d);
    show("/proc/net/udp", "0100007F:1A0D", datagrams);

    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "plug"};
    int local = socket(AF_UNIX, SOCK_STREAM, 0);
    SHOW(bind(local, (void *)&name, sizeof name));
    SHOW(listen(local, 3));
    for (char *line = strtok(whole("/proc/net/unix"), "\n"); line; line = strtok(0, "\n")) {
        char flags[16], type[8], state[8], path[100] = "";
        unsigned long number;
        if (sscanf(line, "%*[^:]: %*s %*s %15s %7s %7s %lu %99s", flags, type, state, &number, path) == 5 && !strcmp(path, "plug"))
            say("unix %s %s %s, %s\n", flags, type, state, number == inode(local) ? "this one" : "another one");
    }
    HOLDS(strstr(whole("/proc/net/dev"), "    lo:"));
    HOLDS(strstr(whole("/proc/net/if_inet6"), "00000000000000000000000000000001 01 80 10 80       lo"));
    HOLDS(!strncmp(whole("/proc/net/route"), "Iface\tDestination\tGateway \tFlags", 31));
    HOLDS(strstr(whole("/proc/net/sockstat"), "TCP: inuse "));
    HOLDS(strstr(whole("/proc/net/sockstat6"), "UDP6: inuse "));
    SHOW(open("/proc/net/nothing", O_RDONLY));
    SHOW(open("/proc/net/tcp", O_WRONLY));
    return 0;
}
