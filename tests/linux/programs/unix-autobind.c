/* call: bind, getsockname; covers: a name that the system chooses */
#include "check.h"

int main(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    SHOW(bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)));
    SHOW(getsockname(fd, (struct sockaddr *)&address, &length));
    say("%d %d\n", length, address.sun_path[0]);
    return 0;
}
