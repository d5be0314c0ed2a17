/* call: read, splice, recvfrom; covers: plain reads of sockets whose other end has a name, in a process that handles signals */
#include "check.h"

#include <netinet/in.h>

static void nothing(int number)
{
    (void)number;
}

static void show_read(int fd)
{
    char text[16] = "";
    say("read %zd", read(fd, text, 5));
    say(" %s\n", text);
    memset(text, 0, sizeof text);
    say("rest %zd", read(fd, text, sizeof text - 1));
    say(" %s\n", text);
}

static void show_splice(int from)
{
    int ends[2];
    char text[32] = "";
    pipe(ends);
    SHOW(splice(from, NULL, ends[1], NULL, 7, 0));
    SHOW(read(ends[0], text, sizeof text - 1));
    say("%s\n", text);
}

static void talk(int listener, struct sockaddr *address, socklen_t size, int flags)
{
    int client = socket(address->sa_family, SOCK_STREAM, 0);
    SHOW(connect(client, address, size));
    int server = accept(listener, NULL, NULL);
    fcntl(client, F_SETFL, flags);
    fcntl(server, F_SETFL, flags);
    SHOW(write(server, "hello world", 11));
    show_read(client);
    SHOW(send(client, "to the server", 13, 0));
    show_read(server);
    SHOW(write(server, "through a pipe", 14));
    show_splice(client);
    show_read(client);
    close(server);
    SHOW(read(client, &size, 4));
    close(client);
}

static void show_all(int family)
{
    struct sockaddr_in internet = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un local = {.sun_family = AF_UNIX, .sun_path = "name"};
    struct sockaddr *address = family == AF_INET ? (struct sockaddr *)&internet : (struct sockaddr *)&local;
    socklen_t size = family == AF_INET ? sizeof internet : sizeof local;
    int listener = socket(family, SOCK_STREAM, 0);
    SHOW(bind(listener, address, size));
    SHOW(listen(listener, 4));
    getsockname(listener, address, &size);
    talk(listener, address, size, 0);
    talk(listener, address, size, O_NONBLOCK);
    close(listener);
}

int main(void)
{
    signal(SIGUSR1, nothing);
    raise(SIGUSR1);
    show_all(AF_INET);
    show_all(AF_UNIX);
    return 0;
}
