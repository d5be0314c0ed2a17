/* call: sigaltstack, rt_sigaction; covers: a handler when the stack is used up */
#include "check.h"

static char stack[65536];
static sigjmp_buf back;

static void handler(int number)
{
    say("%s\n", signal_name(number));
    siglongjmp(back, 1);
}

static int endless(int level)
{
    volatile char frame[10000];
    frame[0] = level;
    return endless(level + 1) + frame[0];
}

int main(void)
{
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&other, NULL);
    handle(SIGSEGV, handler, SA_ONSTACK);
    if (!sigsetjmp(back, 1))
        endless(0);
    say("back\n");
    return 0;
}
