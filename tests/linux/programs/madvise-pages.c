/* call: madvise, mlock2, mincore; covers: COLD, PAGEOUT, POPULATE_READ, POPULATE_WRITE, pages that are locked later */
#include "check.h"

#define PAGE 4096L
#ifndef MADV_COLD
#define MADV_COLD 20
#define MADV_PAGEOUT 21
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

static char *fresh(long count)
{
    return mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int there(char *pages, long count)
{
    unsigned char vector[16] = {0};
    int found = 0;
    mincore(pages, count * PAGE, vector);
    for (long page = 0; page < count; page++) found += vector[page] & 1;
    return found;
}

static void populated(void)
{
    char *pages = fresh(8);
    SHOW(madvise(pages, 4 * PAGE, MADV_POPULATE_WRITE));
    HOLDS(there(pages, 8) == 4);
    SHOW(madvise(pages + 1, PAGE, MADV_POPULATE_READ));
    SHOW(madvise(pages, 8 * PAGE, MADV_POPULATE_READ));
    mprotect(pages, PAGE, PROT_READ);
    SHOW(madvise(pages, 2 * PAGE, MADV_POPULATE_WRITE));
    SHOW(madvise(pages, 2 * PAGE, MADV_POPULATE_READ));
    mprotect(pages, PAGE, PROT_NONE);
    SHOW(madvise(pages, 2 * PAGE, MADV_POPULATE_READ));
    munmap(pages + 2 * PAGE, PAGE);
    SHOW(madvise(pages + PAGE, 3 * PAGE, MADV_POPULATE_READ));
    put_file("f", "x");
    char *file = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, open("f", O_RDONLY), 0);
    SHOW(madvise(file, PAGE, MADV_POPULATE_READ));
    SHOW(madvise(file, PAGE, MADV_POPULATE_WRITE));
}

static void idle(void)
{
    char *pages = fresh(8);
    memset(pages, 'x', 8 * PAGE);
    SHOW(madvise(pages, 4 * PAGE, MADV_COLD));
    SHOW(madvise(pages, 4 * PAGE, MADV_PAGEOUT));
    say("%c %c\n", pages[0], pages[4 * PAGE - 1]);
    SHOW(mlock(pages, PAGE));
    SHOW(madvise(pages, 2 * PAGE, MADV_COLD));
    SHOW(madvise(pages, 2 * PAGE, MADV_PAGEOUT));
    SHOW(munlock(pages, PAGE));
    munmap(pages + 4 * PAGE, PAGE);
    SHOW(madvise(pages, 8 * PAGE, MADV_COLD));
    SHOW(madvise(pages, 8 * PAGE, MADV_PAGEOUT));
    say("%c %c\n", pages[0], pages[8 * PAGE - 1]);
}

static void locked_later(void)
{
    char *pages = fresh(8);
    SHOW(mlock2(pages, 4 * PAGE, MLOCK_ONFAULT));
    HOLDS(there(pages, 8) == 0);
    pages[PAGE] = 'x';
    HOLDS(there(pages, 4) >= 1);
    SHOW(mlock2(pages, 4 * PAGE, 2));
    SHOW(mlock2(pages, 4 * PAGE, 0));
    HOLDS(there(pages, 4) == 4);
    SHOW(madvise(pages, PAGE, MADV_DONTNEED));
    SHOW(munlockall());
    SHOW(madvise(pages, PAGE, MADV_DONTNEED));
    say("%d\n", pages[PAGE]);
}

int main(void)
{
    in_child(populated);
    in_child(idle);
    in_child(locked_later);
    return 0;
}
