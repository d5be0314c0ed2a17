/* call: rt_sigqueueinfo; covers: real-time signals queue in order, others merge */
#include "check.h"

static void handler(int number, siginfo_t *info, void *context)
{
    say("%s %d\n", signal_name(number), info->si_int);
}

int main(void)
{
    sigset_t all;
    for (int number = SIGRTMIN; number < SIGRTMIN + 3; number++)
        handle_info(number, handler, 0);
    handle_info(SIGUSR1, handler, 0);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (int value = 0; value < 3; value++) {
        sigqueue(getpid(), SIGRTMIN + 2 - value, (union sigval){.sival_int = value});
        sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = 10 + value});
        sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 20 + value});
    }
    sigset_t wait;
    siginfo_t info;
    struct timespec none = {0, 0};
    for (int round = 0; round < 10; round++) {
        wait = all;
        int number = sigtimedwait(&wait, &info, &none);
        if (number == -1)
            break;
        say("%s %d\n", signal_name(number), info.si_int);
    }
    return 0;
}
