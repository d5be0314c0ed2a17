/* call: rt_sigreturn; covers: handlers on an alternate stack that another thread makes read-only at times: floating-point registers stay, a frame that cannot be written is SIGSEGV */
#include "check.h"

static char stack[4096 * 10] __attribute__((aligned(4096)));
static volatile int is_over, faults, hangups;

static void fault(int signal)
{
    (void)signal;
    faults++;
}

static void hangup(int signal)
{
    (void)signal;
    hangups++;
}

static void *changes(void *argument)
{
    while (!is_over) {
        mprotect(stack, sizeof stack, PROT_READ);
        mprotect(stack, sizeof stack, PROT_READ | PROT_WRITE);
    }
    return argument;
}

int main(void)
{
    alarm(60);
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternate, 0);
    struct sigaction action = {.sa_handler = fault};
    sigaction(SIGSEGV, &action, 0);
    action.sa_handler = hangup;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGHUP, &action, 0);
    pthread_t other;
    pthread_create(&other, 0, changes, 0);
    double kept = 123.456;
    int lost = 0;
    for (int i = 0; i < 3000; i++) {
        double before = kept, after;
        long result;
        __asm__ volatile("movsd %2, %%xmm5\n\tsyscall\n\tmovsd %%xmm5, %1" : "=a"(result), "=m"(after) : "m"(before), "0"(SYS_tkill), "D"(getpid()), "S"(SIGHUP) : "rcx", "r11", "xmm5", "memory");
        lost += after != before;
    }
    is_over = 1;
    pthread_join(other, 0);
    HOLDS(faults + hangups >= 3000);
    say("%d lost\n", lost);
    mprotect(stack, sizeof stack, PROT_READ);
    faults = 0;
    raise(SIGHUP);
    HOLDS(faults == 1);
    return 0;
}
