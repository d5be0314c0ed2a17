/* call: timerfd_create, timerfd_settime, timerfd_gettime; covers: one expiry, disarming */
#include "check.h"

int main(void)
{
    uint64_t count;
    struct itimerspec time = {{0, 0}, {0, 20000000}}, old;
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    SHOW(timerfd_settime(fd, 0, &time, NULL));
    SHOW(read(fd, &count, 8));
    fcntl(fd, F_SETFL, 0);
    SHOW(read(fd, &count, 8));
    say("%ld\n", (long)count);
    SHOW(timerfd_gettime(fd, &old));
    say("%ld %ld\n", (long)old.it_value.tv_sec, old.it_value.tv_nsec);
    time.it_value.tv_sec = 100;
    SHOW(timerfd_settime(fd, 0, &time, NULL));
    time = (struct itimerspec){{0, 0}, {0, 0}};
    SHOW(timerfd_settime(fd, 0, &time, &old));
    HOLDS(old.it_value.tv_sec >= 99);
    struct pollfd poller = {fd, POLLIN, 0};
    SHOW(poll(&poller, 1, 10));
    return 0;
}
