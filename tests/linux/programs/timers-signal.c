/* call: timer_create, timer_settime, timer_gettime, timer_delete; covers: a timer's signal and its value */
#include "check.h"

static volatile int count;

static void handler(int number, siginfo_t *info, void *context)
{
    if (count++ == 0)
        say("%s code %d value %d\n", signal_name(number), info->si_code, info->si_int);
}

int main(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3, .sigev_value.sival_int = 99};
    struct itimerspec time = {{0, 10000000}, {0, 10000000}}, old;
    handle_info(SIGRTMIN + 3, handler, 0);
    SHOW(timer_create(CLOCK_MONOTONIC, &event, &timer));
    SHOW(timer_settime(timer, 0, &time, NULL));
    while (count < 3)
        pause();
    SHOW(timer_gettime(timer, &old));
    say("interval %ld\n", old.it_interval.tv_nsec);
    SHOW(timer_delete(timer));
    int before = count;
    nap(30);
    HOLDS(count == before);
    return 0;
}
