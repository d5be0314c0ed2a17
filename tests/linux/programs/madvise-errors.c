/* call: madvise; covers: alignment, holes, unknown advice */
#include "check.h"

int main(void)
{
    char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SHOW(madvise(pages + 1, 4096, MADV_DONTNEED));
    SHOW(madvise(pages, 4096, 999));
    SHOW(madvise(pages, 0, MADV_DONTNEED));
    munmap(pages + 4096, 4096);
    memset(pages, 1, 4096);
    SHOW(madvise(pages, 3 * 4096, MADV_DONTNEED));
    say("%d\n", pages[0]);
    SHOW(madvise(pages, -4096, MADV_DONTNEED));
    return 0;
}
