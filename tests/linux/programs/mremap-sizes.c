/* call: mremap; covers: smaller, larger, moved, with their contents; also: musl */
#include "check.h"

int main(void)
{
    char *pages = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(pages, 3, 4 * 4096);
    HOLDS(mremap(pages, 4 * 4096, 2 * 4096, 0) == pages);
    SHOW(write(1, pages + 2 * 4096, 1));
    char *larger = mremap(pages, 2 * 4096, 64 * 4096, MREMAP_MAYMOVE);
    HOLDS(larger != MAP_FAILED);
    say("%d %d %d\n", larger[0], larger[8191], larger[8192]);
    char *place = mmap(NULL, 8 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(mremap(larger, 4096, 2 * 4096, MREMAP_MAYMOVE | MREMAP_FIXED, place + 4096) == place + 4096);
    say("%d %d\n", place[4096], place[8192]);
    SHOW(write(1, larger, 1));
    say("%d\n", larger[4096]);
    return 0;
}
