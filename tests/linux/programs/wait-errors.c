/* call: wait4, waitid; covers: nobody, strangers, flags, addresses */
#include "check.h"

static void child(void)
{
}

int main(void)
{
    siginfo_t info;
    SHOW(waitpid(-1, NULL, 0));
    SHOW(waitpid(1, NULL, 0) == -1 ? errno == ECHILD : 0);
    SHOW(waitpid(getpid(), NULL, 0));
    SHOW(waitpid(-1, NULL, 0x100));
    SHOW(waitid(P_ALL, 0, &info, WEXITED));
    SHOW(waitid(P_ALL, 0, &info, 0));
    SHOW(waitid(9, 0, &info, WEXITED));
    SHOW(waitid(P_PID, 0, &info, WEXITED));
    pid_t id = make_child(child);
    SHOW(waitpid(-id, NULL, 0));
    SHOW(syscall(SYS_wait4, id, (int *)8, 0, NULL));
    return 0;
}
