/* call: rt_sigprocmask, rt_sigaction, rt_sigpending; covers: sizes, numbers, addresses */
#include "check.h"

int main(void)
{
    uint64_t set = 0;
    struct sigaction action = {.sa_handler = SIG_IGN};
    SHOW(syscall(SYS_rt_sigprocmask, 9, &set, NULL, 8));
    SHOW(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 4));
    SHOW(syscall(SYS_rt_sigprocmask, SIG_BLOCK, (void *)8, NULL, 8));
    SHOW(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, (void *)8, 8));
    SHOW(syscall(SYS_rt_sigprocmask, 9, NULL, NULL, 8));
    SHOW(sigaction(0, &action, NULL));
    SHOW(sigaction(65, &action, NULL));
    SHOW(sigaction(SIGKILL, &action, NULL));
    SHOW(sigaction(SIGKILL, NULL, &action));
    SHOW(syscall(SYS_rt_sigaction, SIGUSR1, NULL, NULL, 4));
    SHOW(syscall(SYS_rt_sigaction, SIGUSR1, (void *)8, NULL, 8));
    SHOW(syscall(SYS_rt_sigpending, &set, 16));
    return 0;
}
