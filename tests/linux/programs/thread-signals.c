/* call: tgkill, rt_sigprocmask; covers: to one thread, to any that does not block */
#include "check.h"

static pthread_t other;
static volatile int by_other, by_first, ready;

static void handler(int number)
{
    if (pthread_equal(pthread_self(), other))
        by_other++;
    else
        by_first++;
}

static void *start(void *argument)
{
    sigset_t set;
    sigemptyset(&set), sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    ready = 1;
    while (by_other < 2)
        nap(2);
    return NULL;
}

int main(void)
{
    sigset_t set;
    handle(SIGUSR1, handler, SA_RESTART);
    sigemptyset(&set), sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&other, NULL, start, NULL);
    while (!ready)
        nap(1);
    SHOW(pthread_kill(other, SIGUSR1));
    while (by_other < 1)
        nap(1);
    SHOW(kill(getpid(), SIGUSR1));
    pthread_join(other, NULL);
    say("%d %d\n", by_other, by_first);
    SHOW(pthread_kill(pthread_self(), 0));
    return 0;
}
