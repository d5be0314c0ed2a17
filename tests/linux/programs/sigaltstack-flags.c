/* call: sigaltstack; covers: which flags there are */
#include "check.h"

int main(void)
{
    static char room[65536];
    for (int flags = -1; flags < 6; flags++) {
        stack_t stack = {.ss_sp = room, .ss_size = sizeof room, .ss_flags = flags};
        say("flags %d\n", flags);
        SHOW(sigaltstack(&stack, NULL));
    }
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room, .ss_flags = SS_DISABLE | 1 << 31};
    SHOW(sigaltstack(&stack, NULL));
    stack.ss_flags = 1 << 31;
    SHOW(sigaltstack(&stack, NULL));
    SHOW(sigaltstack(NULL, &stack));
    say("%x\n", stack.ss_flags);
    return 0;
}
