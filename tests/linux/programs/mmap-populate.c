/* call: mmap; covers: flags that change nothing to be seen */
#include "check.h"

int main(void)
{
    int flags[] = {MAP_POPULATE, MAP_NORESERVE, MAP_STACK, MAP_LOCKED, MAP_32BIT};
    for (int index = 0; index < 5; index++) {
        char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags[index], -1, 0);
        say("%#x: %d\n", flags[index], page != MAP_FAILED && page[8191] == 0);
        if (flags[index] == MAP_32BIT)
            HOLDS((uintptr_t)page < 1ul << 31);
    }
    return 0;
}
