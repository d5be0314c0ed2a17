/* call: clone3, waitid; covers: a child by the newer call, with a descriptor of it */
#include "check.h"

int main(void)
{
    int descriptor = -1;
    struct {
        uint64_t flags, pidfd, child, parent, signal, stack, size, tls;
    } arguments = {.flags = 0x1000, .pidfd = (uint64_t)&descriptor, .signal = SIGCHLD};
    pid_t child = syscall(SYS_clone3, &arguments, sizeof arguments);
    if (child == 0)
        _exit(6);
    say("%d\n", descriptor);
    siginfo_t info = {0};
    SHOW(waitid(3, descriptor, &info, WEXITED));
    say("%d %d\n", info.si_code, info.si_status);
    return 0;
}
