/* call: mmap; covers: MAP_FIXED replaces, MAP_FIXED_NOREPLACE does not */
#include "check.h"

int main(void)
{
    char *pages = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(pages, 1, 4 * 4096);
    HOLDS(mmap(pages + 4096, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == pages + 4096);
    say("%d %d %d\n", pages[4095], pages[4096], pages[8192]);
    SHOW(mmap(pages, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED ? -1 : 0);
    munmap(pages + 4096, 4096);
    HOLDS(mmap(pages + 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == pages + 4096);
    SHOW(mmap(pages + 1, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? -1 : 0);
    SHOW(mmap((void *)-4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? -1 : 0);
    return 0;
}
