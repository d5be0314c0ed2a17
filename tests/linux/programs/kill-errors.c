/* call: kill, tkill, tgkill; covers: numbers and processes that are not there */
#include "check.h"

static void other(void)
{
    setresuid(1000, 1000, 1000);
    SHOW(kill(getppid(), 0));
    SHOW(kill(getppid(), SIGTERM));
}

int main(void)
{
    SHOW(kill(getpid(), 0));
    SHOW(kill(getpid(), 65));
    SHOW(kill(getpid(), -1));
    SHOW(kill(999999, SIGTERM));
    SHOW(kill(-999999, SIGTERM));
    SHOW(syscall(SYS_tkill, 999999, SIGTERM));
    SHOW(syscall(SYS_tkill, -1, SIGTERM));
    SHOW(syscall(SYS_tgkill, getpid(), 999999, SIGTERM));
    SHOW(syscall(SYS_tgkill, -1, getpid(), SIGTERM));
    SHOW(syscall(SYS_tgkill, getpid(), getpid(), 0));
    in_child(other);
    return 0;
}
