/* call: clone, clone3; covers: flags that do not go together */
#include "check.h"

int main(void)
{
    struct {
        uint64_t flags, pidfd, child, parent, signal, stack, size, tls;
    } arguments = {.flags = CLONE_SIGHAND};
    SHOW(syscall(SYS_clone, CLONE_THREAD | SIGCHLD, 0, 0, 0, 0));
    SHOW(syscall(SYS_clone, CLONE_SIGHAND | SIGCHLD, 0, 0, 0, 0));
    SHOW(syscall(SYS_clone, CLONE_FS | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0));
    SHOW(syscall(SYS_clone3, &arguments, sizeof arguments));
    arguments.flags = 0, arguments.signal = 65;
    SHOW(syscall(SYS_clone3, &arguments, sizeof arguments));
    arguments.signal = SIGCHLD, arguments.size = 4096;
    SHOW(syscall(SYS_clone3, &arguments, sizeof arguments));
    SHOW(syscall(SYS_clone3, &arguments, 8));
    SHOW(syscall(SYS_clone3, (void *)8, sizeof arguments));
    return 0;
}
