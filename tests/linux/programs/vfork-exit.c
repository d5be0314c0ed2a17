/* call: vfork, execve; covers: memory is the parent's until the child ends */
#include "check.h"

int main(void)
{
    volatile int value = 1;
    pid_t own = getpid(), child = vfork();
    if (child == 0) {
        value = getppid() == own ? 2 : 3;
        _exit(5);
    }
    say("%d\n", value);
    wait_for(child);
    child = vfork();
    if (child == 0) {
        execl("missing", "missing", (char *)NULL);
        _exit(errno);
    }
    wait_for(child);
    return 0;
}
