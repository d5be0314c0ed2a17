/* call: timer_create; covers: SIGEV_THREAD and SIGEV_THREAD_ID */
#include "check.h"

static sem_t done;

static void notify(union sigval value)
{
    note("value %d\n", value.sival_int);
    sem_post(&done);
}

int main(void)
{
    timer_t timer;
    sigset_t set;
    siginfo_t info;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notify, .sigev_value.sival_int = 7};
    struct itimerspec time = {{0, 0}, {0, 10000000}};
    sem_init(&done, 0, 0);
    SHOW(timer_create(CLOCK_REALTIME, &event, &timer));
    SHOW(timer_settime(timer, 0, &time, NULL));
    while (sem_wait(&done) == -1)
        continue;
    say("%s", notes);
    sigemptyset(&set), sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    memset(&event, 0, sizeof event);
    event.sigev_notify = 4, event.sigev_signo = SIGUSR2;
    memcpy((char *)&event + 16, &(int){syscall(SYS_gettid)}, 4);
    SHOW(timer_create(CLOCK_MONOTONIC, &event, &timer));
    SHOW(timer_settime(timer, 0, &time, NULL));
    SHOW(sigwaitinfo(&set, &info) == SIGUSR2);
    return 0;
}
