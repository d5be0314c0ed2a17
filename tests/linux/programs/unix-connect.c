/* call: bind, listen, accept, connect; covers: a listener with a path, and its clients */
#include "check.h"

static struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "listener"};

static void client(void)
{
    char text[20] = "";
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    SHOW(connect(fd, (struct sockaddr *)&address, sizeof address));
    write(fd, "request", 7);
    SHOW(read(fd, text, 20));
    say("%s\n", text);
}

int main(void)
{
    char text[20] = "";
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    SHOW(bind(listener, (struct sockaddr *)&address, sizeof address));
    SHOW(listen(listener, 5));
    pid_t child = make_child(client);
    int fd = accept(listener, NULL, NULL);
    SHOW(read(fd, text, 20));
    SHOW(fd);
    say("%s\n", text);
    write(fd, "answer", 6);
    wait_for(child);
    SHOW(read(fd, text, 20));
    return 0;
}
