/* call: fcntl; covers: F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL; also: musl */
#include "check.h"

int main(void)
{
    int fd = open("f", O_RDWR | O_CREAT, 0644), copy = dup(fd);
    SHOW(fcntl(fd, F_DUPFD, 10));
    SHOW(fcntl(fd, F_DUPFD, 10));
    SHOW(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    SHOW(fcntl(fd, F_DUPFD, -1));
    SHOW(fcntl(fd, F_DUPFD, 1 << 30));
    SHOW(fcntl(fd, F_SETFD, FD_CLOEXEC));
    SHOW(fcntl(fd, F_GETFD));
    SHOW(fcntl(copy, F_GETFD));
    SHOW(fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK));
    SHOW(fcntl(copy, F_GETFL) & (O_APPEND | O_NONBLOCK | O_ACCMODE));
    SHOW(fcntl(fd, F_SETFL, O_RDONLY));
    SHOW(fcntl(copy, F_GETFL) & (O_APPEND | O_NONBLOCK | O_ACCMODE));
    SHOW(fcntl(77, F_GETFD));
    SHOW(fcntl(fd, 9999));
    return 0;
}
