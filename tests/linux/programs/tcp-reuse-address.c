/* call: bind; covers: SO_REUSEADDR of streams: ports of sockets that do not listen; and: listen, connect, accept */
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>

static struct sockaddr_in there = { .sin_family = AF_INET };
static socklen_t size = sizeof there;

static int made(int reuses) {
    int file = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &reuses, sizeof reuses);
    return file;
}

static int bound(int file, struct sockaddr_in *to) { return bind(file, (struct sockaddr *)to, size); }

int main(void) {
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct sockaddr_in own = there;
    int server = made(1);
    SHOW(bound(server, &there));
    getsockname(server, (struct sockaddr *)&there, &size);

    /* Two may have the port until one listens. */
    int second = made(1);
    SHOW(bound(made(0), &there));
    SHOW(bound(second, &there));
    SHOW(listen(server, 4));
    SHOW(listen(second, 4));
    SHOW(bound(made(1), &there));
    close(second);

    /* Two clients of one port, to one place and to another. */
    int first = made(1), other = made(1), listener = made(0);
    SHOW(bound(first, &own));
    getsockname(first, (struct sockaddr *)&own, &size);
    SHOW(bound(made(0), &own));
    SHOW(bound(other, &own));
    SHOW(connect(first, (struct sockaddr *)&there, size));
    SHOW(connect(other, (struct sockaddr *)&there, size));
    struct sockaddr_in elsewhere = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    SHOW(bound(listener, &elsewhere));
    getsockname(listener, (struct sockaddr *)&elsewhere, &size);
    SHOW(listen(listener, 1));
    SHOW(connect(other, (struct sockaddr *)&elsewhere, size));
    int accepted = accept(server, NULL, NULL), also = accept(listener, NULL, NULL);
    struct sockaddr_in peer, same;
    getpeername(accepted, (struct sockaddr *)&peer, &size), getpeername(also, (struct sockaddr *)&same, &size);
    HOLDS(peer.sin_port == own.sin_port && same.sin_port == own.sin_port);
    char byte = 0;
    SHOW(write(first, "1", 1));
    SHOW(write(other, "2", 1));
    SHOW(read(accepted, &byte, 1));
    HOLDS(byte == '1');
    SHOW(read(also, &byte, 1));
    HOLDS(byte == '2');

    /* The listener goes and its connection stays: the port is had again. */
    close(server);
    server = made(1);
    SHOW(bound(server, &there));
    SHOW(listen(server, 4));
    int client = made(0);
    SHOW(connect(client, (struct sockaddr *)&there, size));
    SHOW(write(first, "3", 1));
    SHOW(read(accepted, &byte, 1));
    HOLDS(byte == '3');
    return 0;
}
