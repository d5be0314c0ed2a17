/* call: timer_create, timer_settime, timer_delete; covers: clocks, signals, times, numbers */
#include "check.h"

int main(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = 99}, none = {.sigev_notify = SIGEV_NONE}, odd = {.sigev_notify = 77};
    struct itimerspec wrong = {{0, 0}, {0, -1}}, time = {{0, 0}, {100, 0}}, old;
    SHOW(timer_create(CLOCK_MONOTONIC, &event, &timer));
    SHOW(timer_create(99, &none, &timer));
    SHOW(timer_create(CLOCK_MONOTONIC, &odd, &timer));
    SHOW(timer_create(CLOCK_MONOTONIC, &none, &timer));
    SHOW(timer_settime(timer, 0, &wrong, NULL));
    SHOW(timer_settime(timer, 0, &time, NULL));
    SHOW(timer_gettime(timer, &old));
    HOLDS(old.it_value.tv_sec >= 99);
    SHOW(timer_delete(timer));
    SHOW(syscall(SYS_timer_delete, 12345));
    SHOW(syscall(SYS_timer_settime, 12345, 0, &time, NULL));
    SHOW(syscall(SYS_timer_getoverrun, 12345));
    return 0;
}
