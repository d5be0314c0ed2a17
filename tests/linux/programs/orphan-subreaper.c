/* call: prctl, fork, wait4; covers: PR_SET_CHILD_SUBREAPER takes orphans */
#include "check.h"

static void grandchild(void)
{
    nap(30);
    _exit(6);
}

static void child(void)
{
    make_child(grandchild);
}

int main(void)
{
    int status;
    SHOW(prctl(PR_SET_CHILD_SUBREAPER, 1));
    in_child(child);
    HOLDS(wait(&status) > 0);
    show_status(status);
    SHOW(prctl(PR_GET_CHILD_SUBREAPER, &status));
    say("%d\n", status);
    return 0;
}
