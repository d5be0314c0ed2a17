/* call: rt_sigtimedwait, fork; covers: a child's signal and a child's end */
#include "check.h"

static void child(void)
{
    sigqueue(getppid(), SIGUSR1, (union sigval){.sival_int = 5});
    nap(20);
}

int main(void)
{
    sigset_t set;
    siginfo_t info = {0};
    sigemptyset(&set), sigaddset(&set, SIGUSR1), sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    pid_t id = make_child(child);
    SHOW(sigwaitinfo(&set, &info) == SIGUSR1);
    say("code %d value %d from the child %d\n", info.si_code, info.si_int, info.si_pid == id);
    SHOW(sigwaitinfo(&set, &info) == SIGCHLD);
    say("code %d\n", info.si_code);
    wait_for(id);
    return 0;
}
