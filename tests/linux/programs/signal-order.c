/* call: rt_sigprocmask, kill; covers: which of several pending signals comes first */
#include "check.h"

static void handler(int number)
{
    say("%s\n", signal_name(number));
}

int main(void)
{
    sigset_t all;
    int numbers[] = {SIGTERM, SIGRTMIN + 4, SIGHUP, SIGRTMIN + 1, SIGUSR1};
    struct sigaction action = {.sa_handler = handler};
    sigfillset(&action.sa_mask);
    sigfillset(&all);
    for (int index = 0; index < 5; index++)
        sigaction(numbers[index], &action, NULL);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (int index = 0; index < 5; index++)
        kill(getpid(), numbers[index]);
    sigemptyset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    return 0;
}
