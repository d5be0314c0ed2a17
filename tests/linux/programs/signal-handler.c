/* call: rt_sigaction, kill, rt_sigreturn; covers: a handler runs, and what was interrupted goes on; also: musl dynamic */
#include "check.h"

static volatile int count;

static void handler(int number)
{
    count++;
    say("%s\n", signal_name(number));
}

int main(void)
{
    struct sigaction old;
    handle(SIGUSR1, handler, 0);
    SHOW(raise(SIGUSR1));
    SHOW(kill(getpid(), SIGUSR1));
    SHOW(syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1));
    say("%d\n", count);
    SHOW(sigaction(SIGUSR1, NULL, &old));
    HOLDS(old.sa_handler == handler);
    return 0;
}
