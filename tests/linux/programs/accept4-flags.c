/* call: accept4; covers: flags of the new descriptor */
#include "check.h"

int main(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "listener"};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(listener, (struct sockaddr *)&address, sizeof address);
    listen(listener, 3);
    connect(client, (struct sockaddr *)&address, sizeof address);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    SHOW(fd);
    SHOW(fcntl(fd, F_GETFD));
    SHOW(fcntl(fd, F_GETFL) & O_NONBLOCK);
    SHOW(accept4(listener, NULL, NULL, 1));
    return 0;
}
