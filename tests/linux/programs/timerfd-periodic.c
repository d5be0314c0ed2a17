/* call: timerfd_settime, read; covers: expiries that add up */
#include "check.h"

int main(void)
{
    uint64_t count;
    struct itimerspec time = {{0, 10000000}, {0, 10000000}};
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    timerfd_settime(fd, 0, &time, NULL);
    nap(55);
    SHOW(read(fd, &count, 8));
    HOLDS(count >= 5);
    SHOW(read(fd, &count, 8));
    HOLDS(count >= 1);
    return 0;
}
