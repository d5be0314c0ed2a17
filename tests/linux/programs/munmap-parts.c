/* call: munmap, mprotect; covers: from the middle, over holes, errors; also: musl */
#include "check.h"

int main(void)
{
    char *pages = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(pages, 7, 5 * 4096);
    SHOW(munmap(pages + 2 * 4096, 4096));
    say("%d %d\n", pages[4096], pages[3 * 4096]);
    SHOW(write(1, pages + 2 * 4096, 1));
    SHOW(mprotect(pages, 5 * 4096, PROT_READ));
    SHOW(munmap(pages, 5 * 4096));
    SHOW(munmap(pages + 1, 4096));
    SHOW(munmap(pages, 0));
    SHOW(munmap((void *)0x7fffffffffff000, 4096));
    return 0;
}
