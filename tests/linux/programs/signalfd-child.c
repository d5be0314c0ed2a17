/* call: signalfd4, fork; covers: the end of a child is read */
#include "check.h"

static void child(void)
{
    nap(10);
    _exit(5);
}

int main(void)
{
    sigset_t set;
    struct signalfd_siginfo info;
    sigemptyset(&set), sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, 0);
    pid_t id = make_child(child);
    SHOW(read(fd, &info, sizeof info) == sizeof info);
    say("%s code %d status %d\n", signal_name(info.ssi_signo), info.ssi_code, info.ssi_status);
    wait_for(id);
    return 0;
}
