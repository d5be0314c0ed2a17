/* call: rt_sigaction, kill; covers: ignored signals leave nothing behind */
#include "check.h"

int main(void)
{
    sigset_t set, pending;
    signal(SIGUSR1, SIG_IGN);
    SHOW(raise(SIGUSR1));
    sigemptyset(&set), sigaddset(&set, SIGUSR1), sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1), raise(SIGUSR2);
    signal(SIGUSR2, SIG_IGN);
    sigpending(&pending);
    say("%d %d\n", sigismember(&pending, SIGUSR1), sigismember(&pending, SIGUSR2));
    SHOW(signal(SIGKILL, SIG_IGN) == SIG_ERR ? -1 : 0);
    SHOW(signal(SIGSTOP, SIG_IGN) == SIG_ERR ? -1 : 0);
    return 0;
}
