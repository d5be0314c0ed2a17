/* call: rt_sigprocmask, rt_sigpending; covers: blocking, unblocking, what stays; also: musl dynamic */
#include "check.h"

static void handler(int number)
{
    say("%s\n", signal_name(number));
}

int main(void)
{
    sigset_t set, old;
    handle(SIGUSR1, handler, 0);
    sigemptyset(&set), sigaddset(&set, SIGUSR1);
    SHOW(sigprocmask(SIG_BLOCK, &set, NULL));
    raise(SIGUSR1);
    raise(SIGUSR1);
    sigpending(&old);
    say("pending %d\n", sigismember(&old, SIGUSR1));
    SHOW(sigprocmask(SIG_UNBLOCK, &set, &old));
    say("was blocked %d\n", sigismember(&old, SIGUSR1));
    sigfillset(&set);
    SHOW(sigprocmask(SIG_SETMASK, &set, NULL));
    sigprocmask(SIG_BLOCK, NULL, &old);
    say("%d %d\n", sigismember(&old, SIGKILL), sigismember(&old, SIGTERM));
    return 0;
}
