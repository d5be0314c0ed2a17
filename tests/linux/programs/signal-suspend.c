/* call: rt_sigsuspend; covers: waits with another mask, and puts the old one back; also: musl */
#include "check.h"

static void handler(int number)
{
    say("%s\n", signal_name(number));
}

int main(void)
{
    sigset_t set, none;
    handle(SIGUSR1, handler, 0);
    sigemptyset(&none), sigemptyset(&set), sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1);
    say("before\n");
    SHOW(sigsuspend(&none));
    sigprocmask(SIG_BLOCK, NULL, &set);
    say("blocked again %d\n", sigismember(&set, SIGUSR1));
    SHOW(syscall(SYS_rt_sigsuspend, &none, 4));
    return 0;
}
