/* call: socket, bind, connect, sendto; covers: sockets of the internet's version 6 at the loopback, alone and with version 4, in a child and sent to another socket */
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>

static struct sockaddr_in6 six(const char *address, int port)
{
    struct sockaddr_in6 name = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    inet_pton(AF_INET6, address, &name.sin6_addr);
    return name;
}

static struct sockaddr_in four(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_port = htons(port)};
}

static int show(const char *what, int socket, int (*ask)(int, struct sockaddr *, socklen_t *))
{
    struct sockaddr_storage name = {0};
    socklen_t size = sizeof name;
    char text[INET6_ADDRSTRLEN] = "";
    int failed = ask(socket, (void *)&name, &size), is_six = name.ss_family == AF_INET6;
    if (!failed)
        inet_ntop(name.ss_family, is_six ? (void *)&((struct sockaddr_in6 *)&name)->sin6_addr : (void *)&((struct sockaddr_in *)&name)->sin_addr, text, sizeof text);
    int port = ntohs(((struct sockaddr_in *)&name)->sin_port);
    say("%s: %d, family %d, %u bytes, %s, %s port\n", what, failed, name.ss_family, size, text, port ? "a" : "no");
    return port;
}

static void talk(int listener, int client)
{
    char byte = 0;
    int served = accept(listener, 0, 0);
    show("served", served, getsockname);
    show("its peer", served, getpeername);
    show("client", client, getsockname);
    show("its peer", client, getpeername);
    SHOW(write(client, "x", 1));
    SHOW(read(served, &byte, 1));
    close(served);
    close(client);
}

static int plug(int family, int kind, void *to, socklen_t size)
{
    int made = socket(family, kind, 0);
    SHOW(connect(made, to, size));
    return made;
}

/* Sends a descriptor through a socket, and returns the one that came out. */
static int passed(int socket)
{
    int pair[2], came = -1;
    char byte = 'x', room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(head), &socket, sizeof socket);
    SHOW(sendmsg(pair[0], &message, 0));
    memset(room, 0, sizeof room);
    message.msg_controllen = sizeof room;
    SHOW(recvmsg(pair[1], &message, 0));
    if ((head = CMSG_FIRSTHDR(&message)))
        memcpy(&came, CMSG_DATA(head), sizeof came);
    close(pair[0]);
    close(pair[1]);
    return came;
}

/* What a socket is after a fork, after a fork of a fork's child, and after it was sent. */
static void move_about(int listener)
{
    int status;
    pid_t child = fork();
    if (!child) {
        show("in a child", listener, getsockname);
        pid_t second = fork();
        if (!second) {
            int came = passed(listener);
            show("in its child, sent", came, getsockname);
            _exit(0);
        }
        waitpid(second, &status, 0);
        _exit(status != 0);
    }
    HOLDS(waitpid(child, &status, 0) == child && !status);
    int came = passed(listener);
    struct sockaddr_in6 there = six("::1", show("sent", came, getsockname));
    talk(came, plug(AF_INET6, SOCK_STREAM, &there, sizeof there));
    close(came);
}

int main(void)
{
    alarm(30);
    int one = 1, value = 7, other;
    socklen_t size = sizeof value;
    struct sockaddr_in6 any = six("::", 0), there;
    struct sockaddr_in old;

    say("both versions\n");
    int listener = socket(AF_INET6, SOCK_STREAM, 0);
    SHOW(getsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &value, &size));
    say("%d\n", value);
    SHOW(bind(listener, (void *)&any, sizeof any));
    SHOW(listen(listener, 5));
    int port = show("listener", listener, getsockname);
    there = six("::1", port);
    talk(listener, plug(AF_INET6, SOCK_STREAM, &there, sizeof there));
    there = six("::ffff:127.0.0.1", port);
    talk(listener, plug(AF_INET6, SOCK_STREAM, &there, sizeof there));
    old = four(port);
    talk(listener, plug(AF_INET, SOCK_STREAM, &old, sizeof old));

    say("in other hands\n");
    move_about(listener);

    say("version 6 alone, beside version 4\n");
    other = socket(AF_INET6, SOCK_STREAM, 0);
    SHOW(setsockopt(other, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one));
    SHOW(bind(other, (void *)&any, sizeof any));
    SHOW(listen(other, 5));
    port = show("listener", other, getsockname);
    there = six("::1", port);
    talk(other, plug(AF_INET6, SOCK_STREAM, &there, sizeof there));
    old = four(port);
    close(plug(AF_INET, SOCK_STREAM, &old, sizeof old));
    int beside = socket(AF_INET, SOCK_STREAM, 0);
    SHOW(bind(beside, (void *)&old, sizeof old));
    SHOW(listen(beside, 5));
    talk(beside, plug(AF_INET, SOCK_STREAM, &old, sizeof old));
    talk(other, plug(AF_INET6, SOCK_STREAM, &there, sizeof there));
    SHOW(bind(socket(AF_INET6, SOCK_STREAM, 0), (void *)&there, sizeof there));
    close(other);
    close(plug(AF_INET6, SOCK_STREAM, &there, sizeof there));

    say("datagrams\n");
    char text[8];
    int server = socket(AF_INET6, SOCK_DGRAM, 0);
    SHOW(bind(server, (void *)&any, sizeof any));
    port = show("server", server, getsockname);
    there = six("::1", port);
    old = four(port);
    for (int version = 0; version < 2; version++) {
        int client = socket(version ? AF_INET : AF_INET6, SOCK_DGRAM, 0);
        struct sockaddr_in6 from = {0};
        char shown[INET6_ADDRSTRLEN];
        size = sizeof from;
        SHOW(sendto(client, "ask", 3, 0, version ? (void *)&old : (void *)&there, version ? sizeof old : sizeof there));
        SHOW(recvfrom(server, text, sizeof text, 0, (void *)&from, &size));
        say("from %s, %u bytes\n", inet_ntop(AF_INET6, &from.sin6_addr, shown, sizeof shown), size);
        SHOW(sendto(server, "answer", 6, 0, (void *)&from, size));
        SHOW(recv(client, text, sizeof text, 0));
        close(client);
    }
    close(server);
    SHOW(sendto(socket(AF_INET6, SOCK_DGRAM, 0), "lost", 4, 0, (void *)&there, sizeof there));

    say("wrong addresses\n");
    other = socket(AF_INET6, SOCK_STREAM, 0);
    there = six("2001:db8::1", 9);
    SHOW(bind(other, (void *)&there, sizeof there));
    SHOW(connect(other, (void *)&there, sizeof there));
    SHOW(connect(other, (void *)&there, 20));
    SHOW(bind(other, (void *)&old, sizeof old));
    SHOW(getsockopt(socket(AF_INET, SOCK_STREAM, 0), IPPROTO_IPV6, IPV6_V6ONLY, &value, &size));
    return 0;
}
