/* call: rt_sigtimedwait; covers: signals taken without a handler, timeouts, errors; also: musl */
#include "check.h"

int main(void)
{
    sigset_t set;
    siginfo_t info = {0};
    struct timespec soon = {0, 20000000}, none = {0, 0}, wrong = {0, -1};
    sigemptyset(&set), sigaddset(&set, SIGUSR1), sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    SHOW(sigtimedwait(&set, &info, &none));
    long start = now();
    SHOW(sigtimedwait(&set, &info, &soon));
    HOLDS(now() - start >= 19);
    raise(SIGUSR2);
    SHOW(sigwaitinfo(&set, &info));
    say("%s code %d\n", signal_name(info.si_signo), info.si_code);
    kill(getpid(), SIGUSR1);
    int number;
    SHOW(sigwait(&set, &number));
    say("%s\n", signal_name(number));
    SHOW(sigtimedwait(&set, &info, &wrong));
    SHOW(syscall(SYS_rt_sigtimedwait, &set, &info, &none, 4));
    return 0;
}
