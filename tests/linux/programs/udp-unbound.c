/* call: sendto; covers: datagrams of the Internet from sockets that were never bound, or are bound to any address: they come from an address that can be answered */
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>

static struct sockaddr_in at(unsigned address, int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(address)}, .sin_port = htons(port)};
}

static struct sockaddr_in name(int socket)
{
    struct sockaddr_in name = {0};
    socklen_t size = sizeof name;
    SHOW(getsockname(socket, (void *)&name, &size));
    say("%s, %s port\n", inet_ntoa(name.sin_addr), name.sin_port ? "a" : "no");
    return name;
}

/* A question and its answer. */
static void ask(int client, int server, struct sockaddr_in *to)
{
    char text[16];
    struct sockaddr_in from = {0};
    socklen_t size = sizeof from;
    SHOW(sendto(client, "ask", 3, 0, (void *)to, to ? sizeof *to : 0));
    SHOW(recvfrom(server, text, sizeof text, 0, (void *)&from, &size));
    say("from %s, %s port, %u bytes\n", inet_ntoa(from.sin_addr), from.sin_port ? "a" : "no", size);
    SHOW(sendto(server, "answer", 6, 0, (void *)&from, size));
    size = sizeof from;
    SHOW(recvfrom(client, text, sizeof text, 0, (void *)&from, &size));
    say("from %s, %u bytes\n", inet_ntoa(from.sin_addr), size);
}

int main(void)
{
    alarm(20);
    struct sockaddr_in any = at(INADDR_ANY, 0), loop = at(INADDR_LOOPBACK, 0);
    for (int is_any = 0; is_any < 2; is_any++) {
        int server = socket(AF_INET, SOCK_DGRAM, 0);
        SHOW(bind(server, (void *)(is_any ? &any : &loop), sizeof any));
        struct sockaddr_in there = name(server);
        if (is_any)
            there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);

        say("never bound\n");
        int client = socket(AF_INET, SOCK_DGRAM, 0);
        name(client);
        ask(client, server, &there);
        struct sockaddr_in first = name(client);
        ask(client, server, &there);
        struct sockaddr_in second = name(client);
        HOLDS(first.sin_port == second.sin_port);
        SHOW(bind(client, (void *)&loop, sizeof loop));
        close(client);

        say("bound to any address\n");
        client = socket(AF_INET, SOCK_DGRAM, 0);
        SHOW(bind(client, (void *)&any, sizeof any));
        name(client);
        ask(client, server, &there);
        name(client);
        close(client);

        say("connected\n");
        client = socket(AF_INET, SOCK_DGRAM, 0);
        SHOW(connect(client, (void *)&there, sizeof there));
        name(client);
        ask(client, server, 0);
        close(client);

        say("bound to any address, and connected\n");
        client = socket(AF_INET, SOCK_DGRAM, 0);
        SHOW(bind(client, (void *)&any, sizeof any));
        SHOW(connect(client, (void *)&there, sizeof there));
        name(client);
        ask(client, server, 0);
        close(client);

        say("to any address\n");
        client = socket(AF_INET, SOCK_DGRAM, 0);
        there.sin_addr.s_addr = htonl(INADDR_ANY);
        ask(client, server, &there);
        close(client);
        close(server);
    }
    return 0;
}
