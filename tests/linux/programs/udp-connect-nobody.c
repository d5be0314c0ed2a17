/* call: connect; covers: a port of datagrams that nobody has; and: send, recv, poll, getpeername */
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>

static struct sockaddr_in at(int port) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = { htonl(INADDR_LOOPBACK) } };
    return address;
}

int main(void) {
    /* A port that is free: somebody had it just now. */
    int server = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in there = at(0), peer;
    socklen_t size = sizeof there;
    bind(server, (struct sockaddr *)&there, size);
    getsockname(server, (struct sockaddr *)&there, &size);
    close(server);

    int client = socket(AF_INET, SOCK_DGRAM, 0);
    SHOW(connect(client, (struct sockaddr *)&there, sizeof there));
    SHOW(getpeername(client, (struct sockaddr *)&peer, &size));
    HOLDS(peer.sin_port == there.sin_port && peer.sin_addr.s_addr == there.sin_addr.s_addr);
    SHOW(send(client, "lost", 4, 0));
    struct pollfd poll_of = { client, POLLIN | POLLOUT, 0 };
    SHOW(poll(&poll_of, 1, 1000));
    HOLDS((poll_of.revents & POLLERR) != 0);
    SHOW(send(client, "x", 1, 0));
    SHOW(send(client, "lost", 4, 0));
    char bytes[16];
    SHOW(recv(client, bytes, sizeof bytes, 0));
    SHOW(recv(client, bytes, sizeof bytes, MSG_DONTWAIT));
    SHOW(send(client, "lost", 4, 0));
    int error = 0;
    size = sizeof error;
    SHOW(getsockopt(client, SOL_SOCKET, SO_ERROR, &error, &size));
    HOLDS(error == ECONNREFUSED);

    /* Who comes later hears the next ones. */
    server = socket(AF_INET, SOCK_DGRAM, 0);
    SHOW(bind(server, (struct sockaddr *)&there, sizeof there));
    SHOW(send(client, "hello", 5, 0));
    SHOW(recvfrom(server, bytes, sizeof bytes, 0, (struct sockaddr *)&peer, &(socklen_t){ sizeof peer }));
    SHOW(sendto(server, "answer", 6, 0, (struct sockaddr *)&peer, sizeof peer));
    SHOW(recv(client, bytes, sizeof bytes, 0));
    close(server);
    SHOW(send(client, "lost", 4, 0));
    SHOW(send(client, "x", 1, 0));

    /* Without a peer nobody is told. */
    int other = socket(AF_INET, SOCK_DGRAM, 0);
    SHOW(sendto(other, "lost", 4, 0, (struct sockaddr *)&there, sizeof there));
    SHOW(sendto(other, "lost", 4, 0, (struct sockaddr *)&there, sizeof there));

    /* Of version 6, to one of both versions. */
    struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = there.sin_port, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    int client_6 = socket(AF_INET6, SOCK_DGRAM, 0);
    SHOW(connect(client_6, (struct sockaddr *)&six, sizeof six));
    SHOW(send(client_6, "lost", 4, 0));
    SHOW(send(client_6, "x", 1, 0));
    server = socket(AF_INET6, SOCK_DGRAM, 0);
    six.sin6_addr = in6addr_any;
    SHOW(bind(server, (struct sockaddr *)&six, sizeof six));
    SHOW(send(client_6, "hello", 5, 0));
    SHOW(recv(server, bytes, sizeof bytes, 0));

    /* The name of no interface, and of none that is there. */
    SHOW(setsockopt(client, SOL_SOCKET, SO_BINDTODEVICE, "", 0));
    SHOW(setsockopt(client, SOL_SOCKET, SO_BINDTODEVICE, "none-such", 10));
    return 0;
}
