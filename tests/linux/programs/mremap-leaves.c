/* call: mremap; covers: MREMAP_DONTUNMAP of private memory, pieces with different rights */
#include "check.h"

#define PAGE 4096L

static char *fresh(long count, int flags)
{
    char *pages = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    memset(pages, 'a', count * PAGE);
    return pages;
}

static void leaves(void)
{
    char *pages = fresh(4, MAP_PRIVATE);
    SHOW((long)mremap(pages, 2 * PAGE, 2 * PAGE, MREMAP_DONTUNMAP));
    SHOW((long)mremap(pages, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP));
    SHOW((long)mremap(pages, 3 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP));
    char *moved = mremap(pages, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
    HOLDS(moved != MAP_FAILED && moved != pages);
    say("%d %d %c %c %c\n", pages[0], pages[2 * PAGE - 1], pages[2 * PAGE], moved[0], moved[2 * PAGE - 1]);
    pages[0] = 'b';
    moved[0] = 'c';
    say("%c %c\n", pages[0], moved[0]);
    char *to = fresh(4, MAP_PRIVATE);
    HOLDS(mremap(pages + PAGE, 3 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) == to);
    say("%d %d %c %c %c\n", pages[PAGE], pages[2 * PAGE], to[PAGE], to[2 * PAGE], to[3 * PAGE]);
}

static void pieces(void)
{
    char *pages = fresh(4, MAP_PRIVATE);
    mprotect(pages, PAGE, PROT_READ);
    SHOW((long)mremap(pages, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE));
    HOLDS(mremap(pages, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE) == pages);
    HOLDS(mremap(pages, 4 * PAGE, 3 * PAGE, MREMAP_MAYMOVE) == pages);
    mprotect(pages, PAGE, PROT_READ | PROT_WRITE);
    HOLDS(mremap(pages, 3 * PAGE, 8 * PAGE, MREMAP_MAYMOVE) != MAP_FAILED);
    char *private = fresh(2, MAP_PRIVATE);
    mmap(private + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    SHOW((long)mremap(private, 2 * PAGE, 8 * PAGE, MREMAP_MAYMOVE));
    say("%c\n", private[0]);
}

int main(void)
{
    in_child(leaves);
    in_child(pieces);
    return 0;
}
