/* call: connect, getsockopt, poll; covers: TCP connections that are not waited for: made, refused, asked for again; also: dynamic */
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>

static struct sockaddr_in address;

static int socket_to(void)
{
    return socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
}

static int error_of(int number)
{
    int error = -1;
    socklen_t size = sizeof error;
    SHOW(getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &size));
    return error;
}

static void show_events(int number)
{
    struct pollfd entry = { .fd = number, .events = POLLIN | POLLOUT };
    SHOW(poll(&entry, 1, 1000));
    say("%x\n", entry.revents);
}

static int begin(int number)
{
    return connect(number, (struct sockaddr *)&address, sizeof address);
}

int main(void)
{
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    SHOW(bind(server, (struct sockaddr *)&address, size) == 0 && listen(server, 5) == 0);
    SHOW(getsockname(server, (struct sockaddr *)&address, &size));
    int client = socket_to();
    SHOW(begin(client));
    show_events(client);
    say("%s\n", error_name(error_of(client)));
    SHOW(begin(client));
    SHOW(begin(client));
    int accepted = accept(server, NULL, NULL);
    SHOW(write(client, "hello", 5));
    char bytes[8];
    SHOW(read(accepted, bytes, 8));
    SHOW(read(client, bytes, 8));
    int waiting = socket(AF_INET, SOCK_STREAM, 0);
    SHOW(begin(waiting));
    SHOW(begin(waiting));
    close(server);
    int refused = socket_to();
    SHOW(begin(refused));
    show_events(refused);
    say("%s\n", error_name(error_of(refused)));
    say("%s\n", error_name(error_of(refused)));
    refused = socket_to();
    SHOW(begin(refused));
    nap(10);
    SHOW(begin(refused));
    refused = socket(AF_INET, SOCK_STREAM, 0);
    SHOW(begin(refused));
    return 0;
}
