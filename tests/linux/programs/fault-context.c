/* call: rt_sigaction, rt_sigreturn; covers: a handler that moves the instruction pointer */
#include "check.h"

#include <ucontext.h>

static void handler(int number, siginfo_t *info, void *context)
{
    ucontext_t *state = context;
    say("%s\n", signal_name(number));
    state->uc_mcontext.gregs[REG_RIP] += 2;
    state->uc_mcontext.gregs[REG_RBX] = 42;
}

int main(void)
{
    long value = 0;
    handle_info(SIGILL, handler, 0);
    __asm__ volatile("xor %%ebx, %%ebx; ud2; mov %%rbx, %0" : "=r"(value)::"rbx");
    say("%ld\n", value);
    return 0;
}
