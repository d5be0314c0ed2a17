/* call: wait4, rt_sigaction; covers: children of who ignores SIGCHLD, or wants no zombies */
#include "check.h"

static void child(void)
{
    _exit(3);
}

int main(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};
    signal(SIGCHLD, SIG_IGN);
    pid_t id = make_child(child);
    SHOW(waitpid(id, NULL, 0));
    sigaction(SIGCHLD, &action, NULL);
    id = make_child(child);
    SHOW(waitpid(id, NULL, 0));
    signal(SIGCHLD, SIG_DFL);
    in_child(child);
    return 0;
}
