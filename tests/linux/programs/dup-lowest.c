/* call: dup, dup2, dup3; covers: lowest numbers, the same number, flags; also: musl dynamic */
#include "check.h"

int main(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    SHOW(dup(fd));
    SHOW(fcntl(fd + 1, F_GETFD));
    SHOW(dup2(fd, 20));
    SHOW(fcntl(20, F_GETFD));
    SHOW(dup2(fd, fd));
    SHOW(fcntl(fd, F_GETFD));
    SHOW(dup3(fd, 21, O_CLOEXEC));
    SHOW(fcntl(21, F_GETFD));
    SHOW(dup3(fd, fd, 0));
    SHOW(dup3(fd, 22, 1));
    SHOW(dup(77));
    SHOW(dup2(77, 5));
    SHOW(dup2(77, 77));
    SHOW(dup2(fd, -1));
    SHOW(dup2(fd, 1 << 30));
    close(fd);
    SHOW(dup(20));
    return 0;
}
