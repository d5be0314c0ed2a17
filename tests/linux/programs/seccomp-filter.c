/* call: seccomp, prctl; covers: a filter that refuses a call */
#include "check.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

static void strict(void)
{
    prctl(PR_SET_SECCOMP, 1);
    write(1, "strict\n", 7);
    getpid();
    syscall(SYS_getppid);
    write(1, "not reached\n", 12);
}

static void filtered(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 77),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    SHOW(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
    SHOW(syscall(SYS_getppid) == -1 ? errno : 0);
}

int main(void)
{
    in_child(strict);
    in_child(filtered);
    return 0;
}
