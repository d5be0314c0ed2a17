/* call: brk; covers: larger, smaller, zero again */
#include "check.h"

int main(void)
{
    char *start = (char *)syscall(SYS_brk, 0);
    HOLDS((char *)syscall(SYS_brk, start + 10000) == start + 10000);
    start[0] = start[9999] = 1;
    HOLDS((char *)syscall(SYS_brk, start + 100) == start + 100);
    HOLDS((char *)syscall(SYS_brk, start + 20000) == start + 20000);
    say("%d %d\n", start[0], start[9999]);
    HOLDS((char *)syscall(SYS_brk, 0) == start + 20000);
    HOLDS((char *)syscall(SYS_brk, (char *)8) == start + 20000);
    HOLDS((char *)syscall(SYS_brk, (char *)0x7fffffffffffffff) == start + 20000);
    return 0;
}
