/* call: rt_sigaction; covers: SIGSEGV, SIGFPE, SIGILL and SIGTRAP, with their codes; also: musl dynamic */
#include "check.h"

static sigjmp_buf back;

static void handler(int number, siginfo_t *info, void *context)
{
    say("%s code %d\n", signal_name(number), info->si_code);
    siglongjmp(back, 1);
}

int main(void)
{
    volatile int zero = 0;
    handle_info(SIGSEGV, handler, 0);
    handle_info(SIGFPE, handler, 0);
    handle_info(SIGILL, handler, 0);
    handle_info(SIGTRAP, handler, 0);
    if (!sigsetjmp(back, 1))
        *(volatile int *)8 = 1;
    if (!sigsetjmp(back, 1))
        zero = 1 / zero;
    if (!sigsetjmp(back, 1))
        __asm__ volatile("ud2");
    if (!sigsetjmp(back, 1))
        __asm__ volatile("int3");
    if (!sigsetjmp(back, 1))
        __asm__ volatile("hlt");
    if (!sigsetjmp(back, 1))
        *(volatile int *)0x8000000000000000 = 1;
    return 0;
}
