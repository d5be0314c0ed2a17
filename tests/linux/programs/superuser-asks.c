/* call: reboot, mount, umount2, swapon, init_module, kexec_load, adjtimex, vhangup, iopl, syslog, acct; covers: what the superuser is told of wrong arguments, and harmless ones */
#include "check.h"
#include <sys/mount.h>
#include <sys/timex.h>

int main(void)
{
    struct timex change = {.modes = 0};
    SHOW(syscall(SYS_reboot, 1, 2, 0, 0));
    SHOW(mount("none", ".", "no-such-type", 0, NULL));
    SHOW(umount2(".", 0));
    SHOW(syscall(SYS_swapon, "missing", 0));
    SHOW(syscall(SYS_init_module, NULL, 0, ""));
    SHOW(syscall(SYS_kexec_load, 0, 99, NULL, 0));
    HOLDS(adjtimex(&change) >= 0);
    SHOW(syscall(SYS_iopl, 3));
    SHOW(syscall(SYS_syslog, 99, NULL, 0));
    SHOW(syscall(SYS_acct, "missing"));
    return 0;
}
