/* call: wait4, setpgid; covers: children of one process group */
#include "check.h"

static void one(void)
{
    nap(20);
    _exit(1);
}

static void two(void)
{
    _exit(2);
}

int main(void)
{
    int status;
    pid_t first = make_child(one), second = make_child(two);
    SHOW(setpgid(first, first));
    HOLDS(waitpid(-first, &status, 0) == first);
    show_status(status);
    HOLDS(waitpid(0, &status, 0) == second);
    show_status(status);
    return 0;
}
