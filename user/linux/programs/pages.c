/* Random changes to a window of 64 pages - mapped, unmapped, protected, moved, emptied - against a model of what each page holds. */
#include "check.h"
#include <sys/mman.h>

#define PAGE 4096ul
#define PAGES 64u
#define BASE 0x620000000000ul
#define BOTH (PROT_READ | PROT_WRITE)

struct page {
    int mapped, protection;
    unsigned char holds;
};

static struct page model[PAGES];
static uint64_t seed = 88172645463325252ull;
static int sink;
static unsigned failures;

static unsigned chance(unsigned limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % limit;
}

static unsigned char *at(unsigned page)
{
    return (unsigned char *)(BASE + page * PAGE);
}

static int all(unsigned first, unsigned count, int protection)
{
    for (unsigned page = first; page < first + count; page++)
        if (!model[page].mapped || (model[page].protection & protection) != protection)
            return 0;
    return 1;
}

static void expect(int condition, const char *what)
{
    if (!condition && failures++ < 10)
        printf("%s: NO\n", what);
}

/* Gives every page of a range that may be written a value of its own. */
static void paint(unsigned first, unsigned count)
{
    for (unsigned page = first; page < first + count; page++)
        if (all(page, 1, PROT_WRITE)) {
            model[page].holds = chance(256);
            at(page)[0] = at(page)[PAGE - 1] = model[page].holds;
        }
}

static void map(unsigned first, unsigned count)
{
    int protection = chance(4) ? BOTH : PROT_READ;
    expect(mmap(at(first), count * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at(first), "mmap");
    for (unsigned page = first; page < first + count; page++)
        model[page] = (struct page){1, protection, 0};
}

static void unmap(unsigned first, unsigned count)
{
    expect(munmap(at(first), count * PAGE) == 0, "munmap");
    memset(model + first, 0, count * sizeof *model);
}

static void protect(unsigned first, unsigned count)
{
    static const int choices[] = {PROT_NONE, PROT_READ, BOTH, BOTH};
    int protection = choices[chance(4)];
    if (!all(first, count, 0))
        return;
    expect(mprotect(at(first), count * PAGE, protection) == 0, "mprotect");
    for (unsigned page = first; page < first + count; page++)
        model[page].protection = protection;
}

/* Moves pages of one mapping: Linux moves no more than that at once. */
static void move(unsigned first, unsigned count, unsigned to)
{
    if (!all(first, 1, 0) || (first < to + count && to < first + count))
        return;
    expect(mremap(at(first), PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at(to)) == at(to), "mremap");
    model[to] = model[first];
    memset(model + first, 0, sizeof *model);
}

static void empty(unsigned first, unsigned count)
{
    if (!all(first, count, BOTH))
        return;
    expect(madvise(at(first), count * PAGE, MADV_DONTNEED) == 0, "madvise");
    for (unsigned page = first; page < first + count; page++)
        model[page].holds = 0;
}

/* What a page holds, and what a system call thinks of it. */
static void verify(unsigned page)
{
    int readable = all(page, 1, PROT_READ), written = write(sink, at(page) + PAGE - 1, 1);
    expect(readable ? written == 1 : written == -1 && errno == EFAULT, "write from the page");
    if (readable)
        expect(at(page)[0] == model[page].holds && at(page)[PAGE - 1] == model[page].holds, "contents");
}

int main(int count, char **words)
{
    start_in(count, words);
    sink = open("pages.test", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (int round = 0; round < 3000; round++) {
        unsigned count = 1 + chance(12), first = chance(PAGES - count);
        switch (chance(8)) {
        case 0: case 1: map(first, count); break;
        case 2: unmap(first, count); break;
        case 3: case 4: protect(first, count); break;
        case 5: move(first, 1, chance(PAGES)); break;
        case 6: empty(first, count); break;
        default: paint(first, count);
        }
        verify(chance(PAGES));
        if (round % 100 == 0)
            for (unsigned page = 0; page < PAGES; page++)
                verify(page);
    }
    unsigned mapped = 0;
    for (unsigned page = 0; page < PAGES; page++)
        mapped += model[page].mapped;
    printf("%u pages at the end, %u failures\n", mapped, failures);
    unlink("pages.test");
    return failures != 0;
}
