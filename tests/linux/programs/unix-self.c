/* call: bind, connect, accept; covers: one process on both sides; the backlog */
#include "check.h"

int main(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "listener"};
    char text[20] = "";
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    SHOW(bind(listener, (struct sockaddr *)&address, sizeof address));
    SHOW(connect(client, (struct sockaddr *)&address, sizeof address));
    SHOW(listen(listener, 1));
    SHOW(connect(client, (struct sockaddr *)&address, sizeof address));
    SHOW(write(client, "early", 5));
    SHOW(connect(client, (struct sockaddr *)&address, sizeof address));
    int fd = accept(listener, NULL, NULL);
    SHOW(read(fd, text, 20));
    say("%s\n", text);
    fcntl(listener, F_SETFL, O_NONBLOCK);
    SHOW(accept(listener, NULL, NULL));
    SHOW(close(listener));
    int late = socket(AF_UNIX, SOCK_STREAM, 0);
    SHOW(connect(late, (struct sockaddr *)&address, sizeof address));
    SHOW(unlink("listener"));
    SHOW(connect(late, (struct sockaddr *)&address, sizeof address));
    return 0;
}
