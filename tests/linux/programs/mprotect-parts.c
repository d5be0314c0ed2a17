/* call: mprotect; covers: a range with a hole, of which what lies before it changes, rights that differ */
#include "check.h"

#define PAGE 4096L

static char *pages;

/* Tells by a call of the kernel what may be done with a page: `r`, `w`. */
static const char *may(long page)
{
    int ends[2];
    pipe(ends);
    int reads = write(ends[1], pages + page * PAGE, 1) == 1;
    write(ends[1], "x", 1);
    int writes = read(ends[0], pages + page * PAGE, 1) == 1;
    close(ends[0]), close(ends[1]);
    return reads ? writes ? "rw" : "r-" : writes ? "-w" : "--";
}

static void tell(void)
{
    say("%s %s %s %s %s %s\n", may(0), may(1), may(2), may(3), may(4), may(5));
}

int main(void)
{
    pages = mmap(NULL, 6 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tell();
    munmap(pages + 3 * PAGE, PAGE);
    SHOW(mprotect(pages + PAGE, 4 * PAGE, PROT_READ | PROT_WRITE));
    tell();
    SHOW(mprotect(pages + 3 * PAGE, 2 * PAGE, PROT_READ | PROT_WRITE));
    tell();
    SHOW(mprotect(pages, 6 * PAGE, PROT_NONE));
    tell();
    SHOW(mprotect(pages, 2 * PAGE, PROT_READ | PROT_WRITE));
    SHOW(mprotect(pages + 4 * PAGE, 2 * PAGE, PROT_READ | PROT_WRITE));
    tell();
    return 0;
}
