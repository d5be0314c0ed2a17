/* call: arch_prctl; covers: the base of fs */
#include "check.h"

int main(void)
{
    unsigned long base = 0;
    SHOW(syscall(SYS_arch_prctl, 0x1003, &base));
    HOLDS(base == (unsigned long)pthread_self());
    SHOW(syscall(SYS_arch_prctl, 0x1002, -1ul));
    SHOW(syscall(SYS_arch_prctl, 0x9999, 0));
    SHOW(syscall(SYS_arch_prctl, 0x1003, 8));
    return 0;
}
