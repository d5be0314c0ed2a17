/* call: signalfd4, poll; covers: readable while a signal is pending; another set */
#include "check.h"

int main(void)
{
    sigset_t set;
    struct signalfd_siginfo info;
    sigemptyset(&set), sigaddset(&set, SIGUSR1), sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigdelset(&set, SIGUSR2);
    struct pollfd fd = {signalfd(-1, &set, 0), POLLIN, 0};
    SHOW(poll(&fd, 1, 0));
    raise(SIGUSR2);
    SHOW(poll(&fd, 1, 0));
    sigaddset(&set, SIGUSR2);
    SHOW(signalfd(fd.fd, &set, 0) == fd.fd);
    SHOW(poll(&fd, 1, 0));
    SHOW(read(fd.fd, &info, sizeof info));
    say("%s\n", signal_name(info.ssi_signo));
    SHOW(poll(&fd, 1, 0));
    return 0;
}
