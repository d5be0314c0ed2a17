/* call: mincore; covers: pages that were touched; errors */
#include "check.h"

int main(void)
{
    unsigned char seen[4] = "";
    char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pages[0] = pages[4096] = pages[8192] = 1;
    SHOW(mincore(pages, 3 * 4096, seen));
    say("%d %d %d\n", seen[0] & 1, seen[1] & 1, seen[2] & 1);
    SHOW(mincore(pages + 1, 4096, seen));
    SHOW(mincore(pages, 4096, (void *)8));
    munmap(pages + 4096, 4096);
    SHOW(mincore(pages, 3 * 4096, seen));
    SHOW(mincore(pages, 0, seen));
    return 0;
}
