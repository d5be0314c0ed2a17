/* call: chroot, mount, umount2, pivot_root, swapoff, delete_module, finit_module, kexec_load, kexec_file_load, vhangup, adjtimex, clock_adjtime, syslog, iopl, ioperm, acct; covers: what a user who is not the superuser is told */
#include "check.h"
#include <sys/mount.h>
#include <sys/timex.h>

static void child(void)
{
    struct timex change = {.modes = ADJ_OFFSET};
    setresuid(1000, 1000, 1000);
    SHOW(mount("none", "d", "tmpfs", 0, NULL));
    SHOW(mount("none", "missing", "tmpfs", 0, NULL));
    SHOW(umount2("d", 0));
    SHOW(umount2("missing", 0));
    SHOW(umount2("d", 1 << 20));
    SHOW(chroot("d"));
    SHOW(chroot("missing"));
    SHOW(chroot("f"));
    SHOW(chroot("closed"));
    SHOW(chroot("closed/x"));
    SHOW(syscall(SYS_pivot_root, "d", "d"));
    SHOW(syscall(SYS_swapoff, "missing"));
    SHOW(syscall(SYS_delete_module, "missing", 0));
    SHOW(syscall(SYS_finit_module, -1, "", 0));
    SHOW(syscall(SYS_kexec_load, 0, 0, NULL, 0));
    SHOW(syscall(SYS_kexec_file_load, -1, -1, 0, "", 0));
    SHOW(vhangup());
    SHOW(adjtimex(&change));
    SHOW(clock_adjtime(CLOCK_REALTIME, &change));
    SHOW(syscall(SYS_syslog, 5, NULL, 0));
    SHOW(syscall(SYS_iopl, 0));
    SHOW(syscall(SYS_iopl, 4));
    SHOW(syscall(SYS_ioperm, 0x80, 1, 1));
    SHOW(syscall(SYS_ioperm, 0x80, 1, 0));
    SHOW(syscall(SYS_ioperm, 0x80, 0, 1));
    SHOW(syscall(SYS_ioperm, 0x10000, 1, 1));
    SHOW(syscall(SYS_acct, "missing"));
}

int main(void)
{
    mkdir("d", 0755);
    mkdir("closed", 0700);
    put_file("f", "");
    in_child(child);
    SHOW(syscall(SYS_acct, NULL));
    SHOW(syscall(SYS_iopl, 0));
    return 0;
}
