/* call: sigaltstack; covers: a handler on another stack; what it says there; also: musl */
#include "check.h"

static char stack[65536];

static void handler(int number)
{
    char here;
    stack_t current;
    say("on the other stack: %d\n", &here >= stack && &here < stack + sizeof stack);
    sigaltstack(NULL, &current);
    say("flags %d\n", current.ss_flags);
    SHOW(sigaltstack(&current, NULL));
}

int main(void)
{
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack}, old;
    SHOW(sigaltstack(NULL, &old));
    say("flags %d\n", old.ss_flags);
    SHOW(sigaltstack(&other, NULL));
    handle(SIGUSR1, handler, SA_ONSTACK);
    raise(SIGUSR1);
    handle(SIGUSR1, handler, 0);
    raise(SIGUSR1);
    other.ss_size = 100;
    SHOW(sigaltstack(&other, NULL));
    other.ss_size = sizeof stack, other.ss_flags = 64;
    SHOW(sigaltstack(&other, NULL));
    other.ss_flags = SS_DISABLE;
    SHOW(sigaltstack(&other, &old));
    SHOW(syscall(SYS_sigaltstack, 8, NULL));
    return 0;
}
