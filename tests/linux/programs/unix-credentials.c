/* call: setsockopt, accept, recvmsg; covers: SO_PASSCRED before there is a connection, and of one that is accepted */
#include "check.h"

static void show(int fd)
{
    union { char bytes[100]; struct cmsghdr align; } control = {0};
    char text[40] = "";
    struct iovec piece = {text, sizeof text};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    SHOW(recvmsg(fd, &message, 0));
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    struct ucred who = {0};
    if (header)
        memcpy(&who, CMSG_DATA(header), sizeof who);
    say("%s: %s\n", text, header && header->cmsg_type == SCM_CREDENTIALS && who.pid == getpid() ? "from us" : "from nobody");
}

int main(void)
{
    struct sockaddr_un address = {AF_UNIX, "listener"};
    int on = 1, listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    socklen_t size = sizeof on;
    bind(listener, (struct sockaddr *)&address, sizeof address);
    listen(listener, 2);
    SHOW(setsockopt(listener, SOL_SOCKET, SO_PASSCRED, &on, sizeof on));
    SHOW(setsockopt(client, SOL_SOCKET, SO_PASSCRED, &on, sizeof on));
    SHOW(connect(client, (struct sockaddr *)&address, sizeof address));
    int server = accept(listener, NULL, NULL);
    on = 7;
    SHOW(getsockopt(server, SOL_SOCKET, SO_PASSCRED, &on, &size));
    say("%d\n", on);
    for (int i = 0; i < 25; i++) {
        char byte;
        write(client, "a", 1), read(server, &byte, 1);
        write(server, "a", 1), read(client, &byte, 1);
    }
    write(client, "there", 5);
    show(server);
    write(server, "back", 4);
    show(client);
    return 0;
}
