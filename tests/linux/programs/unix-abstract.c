/* call: bind, connect, getsockname; covers: names that are in no directory */
#include "check.h"

int main(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "\0nacre-test"}, found = {0};
    socklen_t size = offsetof(struct sockaddr_un, sun_path) + 11, length = sizeof found;
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    SHOW(bind(listener, (struct sockaddr *)&address, size));
    SHOW(listen(listener, 1));
    SHOW(getsockname(listener, (struct sockaddr *)&found, &length));
    say("%d %s\n", length, found.sun_path + 1);
    SHOW(bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, size));
    SHOW(connect(client, (struct sockaddr *)&address, size));
    SHOW(connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, size - 1));
    SHOW(access("nacre-test", F_OK));
    return 0;
}
