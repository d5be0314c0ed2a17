/* A condition does not hold, deep inside. */
#include <assert.h>
#include <stdio.h>

__attribute__((noinline)) static int check(volatile int value)
{
    assert(value < 3);
    return value + 1;
}

int main(void)
{
    volatile int value = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    puts("counting");
    while (value < 9)
        value = check(value);
    return value;
}
