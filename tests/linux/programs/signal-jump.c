/* call: rt_sigprocmask; covers: siglongjmp out of a handler, with and without the mask; also: musl */
#include "check.h"

static sigjmp_buf back;

static void handler(int number)
{
    siglongjmp(back, number);
}

static void blocked(void)
{
    sigset_t set;
    sigprocmask(SIG_BLOCK, NULL, &set);
    say("blocked %d\n", sigismember(&set, SIGUSR1));
}

int main(void)
{
    handle(SIGUSR1, handler, 0);
    if (sigsetjmp(back, 1) == 0)
        raise(SIGUSR1);
    blocked();
    if (sigsetjmp(back, 0) == 0)
        raise(SIGUSR1);
    blocked();
    return 0;
}
