/* call: getsockname, getpeername; covers: names of both sides */
#include "check.h"

int main(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "listener"}, found = {0};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    socklen_t length = sizeof found;
    bind(listener, (struct sockaddr *)&address, sizeof address);
    listen(listener, 1);
    SHOW(getpeername(client, (struct sockaddr *)&found, &length));
    connect(client, (struct sockaddr *)&address, sizeof address);
    int fd = accept(listener, (struct sockaddr *)&found, &length);
    say("accepted from %d bytes of a name\n", length);
    length = sizeof found;
    SHOW(getsockname(fd, (struct sockaddr *)&found, &length));
    say("%d %s\n", length, found.sun_path);
    length = sizeof found;
    SHOW(getpeername(client, (struct sockaddr *)&found, &length));
    say("%d %s\n", length, found.sun_path);
    length = sizeof found;
    SHOW(getpeername(fd, (struct sockaddr *)&found, &length));
    say("%d\n", length);
    length = 4;
    SHOW(getsockname(fd, (struct sockaddr *)&found, &length));
    say("%d\n", length);
    SHOW(getsockname(0, (struct sockaddr *)&found, &length));
    return 0;
}
