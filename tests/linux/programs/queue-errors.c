/* call: rt_sigqueueinfo, rt_tgsigqueueinfo; covers: forged codes, numbers */
#include "check.h"

static void child(void)
{
    siginfo_t info = {.si_code = SI_USER};
    SHOW(syscall(SYS_rt_sigqueueinfo, getppid(), SIGUSR1, &info));
    info.si_code = SI_TKILL;
    SHOW(syscall(SYS_rt_sigqueueinfo, getppid(), SIGUSR1, &info));
    info.si_code = SI_QUEUE;
    SHOW(syscall(SYS_rt_sigqueueinfo, getppid(), 0, &info));
    SHOW(syscall(SYS_rt_sigqueueinfo, getppid(), 99, &info));
    SHOW(syscall(SYS_rt_sigqueueinfo, 999999, SIGUSR1, &info));
    SHOW(syscall(SYS_rt_sigqueueinfo, getppid(), SIGUSR1, (void *)8));
    SHOW(syscall(SYS_rt_tgsigqueueinfo, getppid(), getppid(), 0, &info));
}

int main(void)
{
    in_child(child);
    return 0;
}
