/* call: mmap, mprotect; covers: memory that is reserved and given rights later */
#include "check.h"

int main(void)
{
    char *pages = mmap(NULL, 1ul << 32, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    HOLDS(pages != MAP_FAILED);
    SHOW(write(1, pages, 1));
    SHOW(mprotect(pages + (1 << 20), 8192, PROT_READ | PROT_WRITE));
    pages[1 << 20] = 5;
    say("%d\n", pages[1 << 20]);
    SHOW(write(1, pages, 1));
    SHOW(munmap(pages, 1ul << 32));
    return 0;
}
