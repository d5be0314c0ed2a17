/* call: timerfd_create, timerfd_settime, read; covers: clocks, flags, times, sizes */
#include "check.h"

int main(void)
{
    char byte;
    struct itimerspec wrong = {{0, 0}, {0, 1000000000}}, right = {{0, 0}, {0, 1}};
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    SHOW(timerfd_create(99, 0));
    SHOW(timerfd_create(CLOCK_MONOTONIC, 1));
    SHOW(timerfd_settime(fd, 0, &wrong, NULL));
    SHOW(timerfd_settime(fd, 16, &right, NULL));
    SHOW(timerfd_settime(0, 0, &right, NULL));
    SHOW(timerfd_settime(77, 0, &right, NULL));
    SHOW(timerfd_gettime(0, &right));
    SHOW(read(fd, &byte, 1));
    SHOW(write(fd, "12345678", 8));
    return 0;
}
