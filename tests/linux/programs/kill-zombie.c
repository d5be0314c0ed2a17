/* call: kill, wait4; covers: a child that has ended and was not waited for */
#include "check.h"

static void child(void)
{
}

int main(void)
{
    pid_t id = make_child(child);
    siginfo_t info;
    waitid(P_PID, id, &info, WEXITED | WNOWAIT);
    SHOW(kill(id, 0));
    SHOW(kill(id, SIGTERM));
    wait_for(id);
    SHOW(kill(id, 0));
    return 0;
}
