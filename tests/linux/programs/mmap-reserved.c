/* call: mmap, mprotect, madvise, fork; covers: gigabytes that are reserved and used in part, as runtimes with a heap of their own do: given back, left to children, protected */
#include "check.h"

#define MIB (1L << 20)
#define ALL (8192 * MIB)

static char *heap;

static int is_all(const char *from, long size, char value)
{
    for (long at = 0; at < size; at += 512)
        if (from[at] != value)
            return 0;
    return 1;
}

static void child(void)
{
    HOLDS(is_all(heap + 100 * MIB, MIB, 1) && heap[4000 * MIB] == 2);
    memset(heap + 100 * MIB, 3, MIB);
    heap[7000 * MIB] = 4;
    HOLDS(is_all(heap + 100 * MIB, MIB, 3) && heap[7000 * MIB] == 4 && heap[7001 * MIB] == 0);
}

/* Ten MiB of it are used, here and there. */
static void overcommitted(void)
{
    heap = mmap(NULL, ALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    HOLDS(heap != MAP_FAILED);
    for (long part = 0; part < 10; part++)
        memset(heap + (100 + 700 * part) * MIB, 1, MIB);
    heap[4000 * MIB] = 2;
    HOLDS(is_all(heap + 6400 * MIB, MIB, 1) && heap[6402 * MIB] == 0);
    in_child(child);
    HOLDS(is_all(heap + 100 * MIB, MIB, 1) && heap[7000 * MIB] == 0);
    memset(heap + 800 * MIB, 5, MIB);
    SHOW(madvise(heap + 50 * MIB, 5000 * MIB, MADV_DONTNEED));
    HOLDS(is_all(heap + 100 * MIB, MIB, 0) && heap[800 * MIB] == 0 && is_all(heap + 6400 * MIB, MIB, 1));
    memset(heap + 100 * MIB, 6, MIB);
    SHOW(mprotect(heap + 100 * MIB, MIB, PROT_READ));
    HOLDS(is_all(heap + 100 * MIB, MIB, 6));
    SHOW(munmap(heap, ALL));
}

/* Addresses alone, which become memory part by part. */
static void committed(void)
{
    heap = mmap(NULL, ALL, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    HOLDS(heap != MAP_FAILED);
    for (long part = 0; part < 5; part++) {
        char *at = heap + (300 + 1000 * part) * MIB;
        if (part % 2 == 0)
            SHOW(mprotect(at, 2 * MIB, PROT_READ | PROT_WRITE));
        else
            HOLDS(mmap(at, 2 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
        memset(at, 7 + part, 2 * MIB);
    }
    for (long part = 0; part < 5; part++)
        HOLDS(is_all(heap + (300 + 1000 * part) * MIB, 2 * MIB, 7 + part));
    SHOW(munmap(heap, ALL));
}

int main(void)
{
    overcommitted();
    committed();
    overcommitted();
    return 0;
}
