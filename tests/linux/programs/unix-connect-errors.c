/* call: connect, accept; covers: nobody there, files that are no sockets, wrong types */
#include "check.h"

int main(void)
{
    struct sockaddr_un file = {.sun_family = AF_UNIX, .sun_path = "file"}, missing = {.sun_family = AF_UNIX, .sun_path = "missing"};
    struct sockaddr_un datagrams = {.sun_family = AF_UNIX, .sun_path = "datagrams"};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), other = socket(AF_UNIX, SOCK_DGRAM, 0);
    put_file("file", "");
    bind(other, (struct sockaddr *)&datagrams, sizeof datagrams);
    SHOW(connect(fd, (struct sockaddr *)&missing, sizeof missing));
    SHOW(connect(fd, (struct sockaddr *)&file, sizeof file));
    SHOW(connect(fd, (struct sockaddr *)&datagrams, sizeof datagrams));
    SHOW(connect(fd, (struct sockaddr *)8, sizeof file));
    SHOW(connect(0, (struct sockaddr *)&missing, sizeof missing));
    SHOW(accept(fd, NULL, NULL));
    SHOW(accept(other, NULL, NULL));
    SHOW(accept(77, NULL, NULL));
    SHOW(write(fd, "x", 1));
    SHOW(shutdown(fd, SHUT_RD));
    return 0;
}
