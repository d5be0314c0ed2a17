/* call: mmap, mprotect, munmap; covers: more areas than vm.max_map_count */
#include "check.h"

#define PAGE 4096
#define MOST 65530

static char *at(char *base, long number)
{
    return base + 2 * PAGE * number;
}

int main(void)
{
    /* Every second page of a large range, so that none joins another. */
    char *base = mmap(NULL, 200000L * 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *large = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    munmap(base, 200000L * 2 * PAGE);
    long count = 0;
    while (count < 200000 && mmap(at(base, count), PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
        count++;
    int error = errno;
    say("%s\n", strerror(error));
    HOLDS(count > MOST - 200 && count <= MOST);
    long sum = 0;
    for (long number = 0; number < count; number += 7)
        *at(base, number) = 1;
    for (long number = 0; number < count; number += 7)
        sum += *at(base, number);
    HOLDS(sum == (count + 6) / 7);
    SHOW(mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    SHOW(mprotect(large + PAGE, PAGE, PROT_READ));
    SHOW(munmap(large + PAGE, PAGE));
    SHOW(munmap(large, PAGE));
    SHOW(munmap(large + 15 * PAGE, PAGE));
    for (long number = 0; number < 10; number++)
        munmap(at(base, number), PAGE);
    SHOW(mprotect(large + 4 * PAGE, PAGE, PROT_READ));
    SHOW(munmap(large + 8 * PAGE, PAGE));
    large[2 * PAGE] = 1;
    SHOW(munmap(base, 200000L * 2 * PAGE));
    SHOW(mmap(base, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == base);
    *base = 1;
    return 0;
}
