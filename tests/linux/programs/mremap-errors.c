/* call: mremap; covers: alignment, sizes, places, no room */
#include "check.h"

int main(void)
{
    char *pages = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SHOW((long)mremap(pages + 1, 4096, 4096, 0));
    SHOW((long)mremap(pages, 4096, 0, 0));
    SHOW((long)mremap(pages, 4096, 4096, 64));
    SHOW((long)mremap(pages, 4096, 4096, MREMAP_FIXED, pages + 8192));
    SHOW((long)mremap(pages, 8192, 8192, MREMAP_FIXED | MREMAP_MAYMOVE, pages + 4096));
    SHOW((long)mremap(pages, 2 * 4096, 3 * 4096, 0));
    munmap(pages + 4096, 4096);
    SHOW((long)mremap(pages, 3 * 4096, 5 * 4096, MREMAP_MAYMOVE));
    SHOW((long)mremap((void *)0x200000000, 4096, 8192, MREMAP_MAYMOVE));
    return 0;
}
