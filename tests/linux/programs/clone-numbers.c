/* call: clone; covers: where it writes the child's number, and that it clears it */
#include "check.h"

static char stack[65536] __attribute__((aligned(16)));

static int child(void *argument)
{
    return *(pid_t *)argument == getpid() ? 1 : 2;
}

int main(void)
{
    pid_t in_parent = 0, in_child = 0;
    pid_t id = clone(child, stack + sizeof stack, CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | SIGCHLD, &in_child, &in_parent, NULL, &in_child);
    HOLDS(in_parent == id && in_child == 0);
    wait_for(id);
    return 0;
}
