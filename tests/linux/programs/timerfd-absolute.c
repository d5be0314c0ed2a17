/* call: timerfd_settime, poll; covers: a time in the past, a time to come */
#include "check.h"

int main(void)
{
    uint64_t count;
    struct timespec time;
    int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC);
    struct itimerspec past = {{0, 0}, {1, 0}};
    SHOW(timerfd_settime(fd, TFD_TIMER_ABSTIME, &past, NULL));
    SHOW(read(fd, &count, 8));
    clock_gettime(CLOCK_REALTIME, &time);
    struct itimerspec soon = {{0, 0}, {time.tv_sec + 1, time.tv_nsec}};
    SHOW(timerfd_settime(fd, TFD_TIMER_ABSTIME, &soon, NULL));
    struct pollfd poller = {fd, POLLIN, 0};
    SHOW(poll(&poller, 1, 100));
    SHOW(poll(&poller, 1, 3000));
    return 0;
}
