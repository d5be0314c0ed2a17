/* call: mmap, mlock, mlock2, mlockall, mincore; covers: mappings that are brought at once, pages that may not be used, more memory than can be locked */
#include "check.h"

#define PAGE 4096L
#define PAGES 8

static int there(char *start)
{
    unsigned char seen[PAGES];
    int count = 0;
    if (mincore(start, PAGES * PAGE, seen)) return -1;
    for (int page = 0; page < PAGES; page++) count += seen[page] & 1;
    return count;
}

static char *mapped(int flags)
{
    return mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static void brought(void)
{
    say("%d\n", there(mapped(MAP_POPULATE)));
    say("%d\n", there(mapped(MAP_LOCKED)));
    SHOW(mlockall(MCL_FUTURE));
    say("%d\n", there(mapped(0)));
    SHOW(munlockall());
}

static void unusable(void)
{
    char *start = mapped(0);
    SHOW(mprotect(start + PAGE, PAGE, PROT_NONE));
    SHOW(mlock(start, 2 * PAGE));
    SHOW(munlock(start, 2 * PAGE));
    SHOW(mlock(start + 2 * PAGE, 2 * PAGE));
}

int main(void)
{
    in_child(brought);
    in_child(unusable);
    return 0;
}
