/* call: rt_sigtimedwait, tgkill; covers: a thread that takes the signals of all; also: musl */
#include "check.h"

static volatile int taken;

static void *start(void *argument)
{
    sigset_t set;
    int number;
    sigemptyset(&set), sigaddset(&set, SIGUSR1), sigaddset(&set, SIGTERM);
    do {
        sigwait(&set, &number);
        say("%s\n", signal_name(number));
        taken++;
    } while (number != SIGTERM);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    sigset_t set;
    sigfillset(&set);
    pthread_sigmask(SIG_SETMASK, &set, NULL);
    pthread_create(&thread, NULL, start, NULL);
    kill(getpid(), SIGUSR1);
    while (taken < 1)
        nap(1);
    kill(getpid(), SIGTERM);
    pthread_join(thread, NULL);
    return 0;
}
