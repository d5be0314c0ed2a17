/* call: getpid; covers: which registers a call leaves as they were; also: musl dynamic */
#include "check.h"

int main(void)
{
    long wrong = 0, number = 39;
    __asm__ volatile("mov $1, %%rbx; mov $2, %%rdi; mov $3, %%rsi; mov $4, %%rdx; mov $5, %%r8; mov $6, %%r9; mov $7, %%r10; mov $8, %%r12; mov $9, %%r13; mov $10, %%r14; mov $11, %%r15\n"
                     "syscall\n"
                     "sub $1, %%rbx; sub $2, %%rdi; sub $3, %%rsi; sub $4, %%rdx; sub $5, %%r8; sub $6, %%r9; sub $7, %%r10; sub $8, %%r12; sub $9, %%r13; sub $10, %%r14; sub $11, %%r15\n"
                     "or %%rbx, %%rdi; or %%rdi, %%rsi; or %%rsi, %%rdx; or %%rdx, %%r8; or %%r8, %%r9; or %%r9, %%r10; or %%r10, %%r12; or %%r12, %%r13; or %%r13, %%r14; or %%r14, %%r15; mov %%r15, %0"
                     : "=m"(wrong), "+a"(number)
                     :
                     : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory");
    say("%ld\n", wrong);
    return 0;
}
