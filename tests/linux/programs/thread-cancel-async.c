/* call: tgkill, rt_sigaction; covers: a loop that makes no call */
#include "check.h"

static volatile int started;

static void *spins(void *argument)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    started = 1;
    for (;;)
        continue;
}

int main(void)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, spins, NULL);
    while (!started)
        sched_yield();
    SHOW(pthread_cancel(thread));
    SHOW(pthread_join(thread, &result));
    HOLDS(result == PTHREAD_CANCELED);
    return 0;
}
