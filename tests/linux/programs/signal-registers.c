/* call: rt_sigreturn; covers: registers, flags and floating point stay as they were */
#include "check.h"

static volatile int count;

static void handler(int number)
{
    volatile double x = 3.5;
    x = x * x / 7;
    __asm__ volatile("pxor %%xmm5, %%xmm5; xor %%r12, %%r12; xor %%r15, %%r15; std; cld" ::: "xmm5", "r12", "r15");
    count++;
}

int main(void)
{
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    long wrong = 0;
    handle(SIGALRM, handler, 0);
    setitimer(ITIMER_REAL, &timer, NULL);
    while (count < 20) {
        long integer, other;
        double real = 1.25, found;
        __asm__ volatile("movsd %3, %%xmm5; mov $77, %%r12; mov $99, %%r15; mov $20000, %%ecx; 1: dec %%ecx; jnz 1b; movsd %%xmm5, %0; mov %%r12, %1; mov %%r15, %2"
                         : "=m"(found), "=r"(integer), "=r"(other)
                         : "m"(real)
                         : "rcx", "r12", "r15", "xmm5");
        wrong += found != 1.25 || integer != 77 || other != 99;
    }
    say("%ld wrong\n", wrong);
    return 0;
}
