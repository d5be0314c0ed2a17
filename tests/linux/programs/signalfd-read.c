/* call: signalfd4, read; covers: signals become bytes, with what they carry */
#include "check.h"

int main(void)
{
    sigset_t set;
    struct signalfd_siginfo info[3];
    sigemptyset(&set), sigaddset(&set, SIGUSR1), sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    SHOW(read(fd, info, sizeof info));
    kill(getpid(), SIGUSR1);
    sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 42});
    sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 43});
    SHOW(read(fd, info, sizeof info) / (long)sizeof *info);
    for (int index = 0; index < 3; index++)
        say("%s code %d value %d own %d\n", signal_name(info[index].ssi_signo), info[index].ssi_code, info[index].ssi_int, info[index].ssi_pid == (unsigned)getpid());
    SHOW(read(fd, info, sizeof info));
    return 0;
}
