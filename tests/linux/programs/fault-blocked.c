/* call: rt_sigprocmask; covers: a fault whose signal is blocked or ignored kills */
#include "check.h"

static void blocked(void)
{
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    *(volatile int *)8 = 1;
}

static void ignored(void)
{
    signal(SIGSEGV, SIG_IGN);
    *(volatile int *)8 = 1;
}

static void sent_and_ignored(void)
{
    signal(SIGSEGV, SIG_IGN);
    raise(SIGSEGV);
}

int main(void)
{
    in_child(blocked);
    in_child(ignored);
    in_child(sent_and_ignored);
    return 0;
}
