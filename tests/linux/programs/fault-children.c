/* call: wait4; covers: children that end by what the machine does not do; also: musl */
#include "check.h"

static void memory(void)
{
    *(volatile int *)8 = 1;
}

static void division(void)
{
    volatile int zero = 0;
    zero = 1 / zero;
}

static void instruction(void)
{
    __asm__ volatile("ud2");
}

static void aborts(void)
{
    abort();
}

static void breakpoint(void)
{
    __asm__ volatile("int3");
}

int main(void)
{
    in_child(memory);
    in_child(division);
    in_child(instruction);
    in_child(aborts);
    in_child(breakpoint);
    return 0;
}
