/* call: waitid; covers: what it tells, and that WNOWAIT leaves the child */
#include "check.h"

static void exits(void)
{
    _exit(5);
}

static void killed(void)
{
    raise(SIGTERM);
}

int main(void)
{
    siginfo_t info = {0};
    pid_t id = make_child(exits);
    SHOW(waitid(P_PID, id, &info, WEXITED | WNOWAIT));
    say("%s code %d status %d own %d\n", signal_name(info.si_signo), info.si_code, info.si_status, info.si_pid == id);
    SHOW(waitid(P_PID, id, &info, WEXITED));
    SHOW(waitid(P_PID, id, &info, WEXITED));
    id = make_child(killed);
    SHOW(waitid(P_ALL, 0, &info, WEXITED));
    say("%s code %d status %d\n", signal_name(info.si_signo), info.si_code, info.si_status);
    id = make_child(exits);
    SHOW(waitid(P_PGID, getpgrp(), NULL, WEXITED));
    memset(&info, 1, sizeof info);
    id = make_child(killed);
    nap(30);
    kill(id, SIGCONT);
    SHOW(waitid(P_PID, id, &info, WCONTINUED | WNOHANG));
    wait_for(id);
    return 0;
}
