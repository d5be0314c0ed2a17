/* call: membarrier; covers: which there are, and that they need to be registered */
#include "check.h"

int main(void)
{
    long commands = syscall(SYS_membarrier, 0, 0, 0);
    HOLDS(commands > 0 && commands & 1);
    SHOW(syscall(SYS_membarrier, 8, 0, 0));
    SHOW(syscall(SYS_membarrier, 16, 0, 0));
    SHOW(syscall(SYS_membarrier, 8, 0, 0));
    SHOW(syscall(SYS_membarrier, 1 << 30, 0, 0));
    SHOW(syscall(SYS_membarrier, 0, 1, 0));
    return 0;
}
