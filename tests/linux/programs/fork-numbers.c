/* call: fork, getpid, getppid; covers: who is whose parent */
#include "check.h"

static pid_t own;

static void grandchild(void)
{
    HOLDS(getppid() == own);
}

static void child(void)
{
    HOLDS(getppid() == own && getpid() != own);
    own = getpid();
    in_child(grandchild);
}

int main(void)
{
    own = getpid();
    HOLDS(syscall(SYS_gettid) == own);
    in_child(child);
    return 0;
}
