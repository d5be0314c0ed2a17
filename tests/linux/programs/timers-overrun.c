/* call: timer_create, timer_getoverrun; covers: expiries while the signal is blocked */
#include "check.h"

int main(void)
{
    timer_t timer;
    sigset_t set;
    siginfo_t info;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec time = {{0, 5000000}, {0, 5000000}};
    sigemptyset(&set), sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &time, NULL);
    nap(60);
    SHOW(sigwaitinfo(&set, &info) == SIGUSR1);
    HOLDS(timer_getoverrun(timer) >= 8);
    HOLDS(info.si_overrun >= 8);
    return 0;
}
