/* call: rt_sigaction, kill, rt_sigqueueinfo; covers: what SA_SIGINFO tells of who sent */
#include "check.h"

static void handler(int number, siginfo_t *info, void *context)
{
    say("%s code %d value %d own %d user %d\n", signal_name(number), info->si_code, info->si_code == SI_QUEUE ? info->si_int : 0, info->si_pid == getpid(), info->si_uid);
}

int main(void)
{
    handle_info(SIGUSR1, handler, 0);
    handle_info(SIGRTMIN + 1, handler, 0);
    kill(getpid(), SIGUSR1);
    raise(SIGUSR1);
    sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 17});
    sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = 18});
    return 0;
}
