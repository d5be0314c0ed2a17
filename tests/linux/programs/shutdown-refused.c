/* call: reboot, swapon, init_module; covers: what a user who is not the superuser may not do */
#include "check.h"

static void child(void)
{
    setresuid(1000, 1000, 1000);
    SHOW(syscall(SYS_reboot, 0xfee1dead, 0x28121969, 0, 0));
    SHOW(syscall(SYS_swapon, "missing", 0));
    SHOW(syscall(SYS_init_module, NULL, 0, ""));
    SHOW(sethostname("x", 1));
    SHOW(chroot("/"));
    SHOW(syscall(SYS_acct, NULL));
    SHOW(syscall(SYS_iopl, 3));
    SHOW(mknod("device", S_IFCHR | 0600, 0x103));
    SHOW(setpriority(PRIO_PROCESS, 0, -5));
}

int main(void)
{
    in_child(child);
    return 0;
}
