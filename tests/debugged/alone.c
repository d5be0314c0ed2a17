/* Meets a breakpoint and writes beside watched memory all the time: gdb is killed meanwhile. */
#include <stdio.h>
#include <time.h>

volatile long memory, beside;

__attribute__((noinline)) static long count(long value)
{
    asm volatile("" : "+r"(value));
    return value + 1;
}

int main(void)
{
    time_t end = time(NULL) + 6;
    while (time(NULL) < end)
        for (int i = 0; i < 100; i++)
            beside = count(beside);
    puts("goes on alone");
    fflush(stdout);
    return memory;
}
