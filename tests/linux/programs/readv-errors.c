/* call: readv, writev; covers: counts and lengths that are too large, bad addresses */
#include "check.h"

int main(void)
{
    char byte;
    struct iovec good = {&byte, 1}, bad = {(void *)8, 1}, huge = {&byte, -1}, many[1025];
    put_file("f", "abc");
    int fd = open("f", O_RDWR);
    for (int index = 0; index < 1025; index++)
        many[index] = good;
    SHOW(readv(fd, &good, -1));
    SHOW(readv(fd, many, 1025));
    SHOW(readv(fd, &bad, 1));
    SHOW(readv(fd, &huge, 1));
    SHOW(readv(fd, (void *)8, 1));
    SHOW(readv(99, &good, 1));
    SHOW(writev(fd, &good, -1));
    SHOW(writev(fd, many, 1025));
    SHOW(writev(fd, &bad, 1));
    SHOW(writev(fd, &huge, 1));
    SHOW(writev(99, &good, 1));
    SHOW(writev(fd, many, 1024));
    return 0;
}
