/* call: pidfd_open, pidfd_send_signal, poll, waitid; covers: a descriptor of a child */
#include "check.h"

static void child(void)
{
    for (;;)
        pause();
}

int main(void)
{
    siginfo_t info = {0};
    pid_t id = make_child(child);
    int fd = syscall(SYS_pidfd_open, id, 0);
    SHOW(fd);
    SHOW(fcntl(fd, F_GETFD));
    struct pollfd poller = {fd, POLLIN, 0};
    SHOW(poll(&poller, 1, 0));
    SHOW(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0));
    SHOW(syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0));
    SHOW(poll(&poller, 1, 1000));
    SHOW(waitid(3, fd, &info, WEXITED));
    say("%d %d\n", info.si_code, info.si_status);
    SHOW(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0));
    SHOW(syscall(SYS_pidfd_open, 999999, 0));
    SHOW(syscall(SYS_pidfd_open, getpid(), 1));
    SHOW(syscall(SYS_pidfd_open, -1, 0));
    return 0;
}
