/* call: mmap; covers: what AddressSanitizer keeps for itself: 14 TiB without memory behind them, touched here and there, left to a child */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct { unsigned long start, end; int protection; } RANGES[] = {
    {0x7fff7000, 0x8fff7000, PROT_READ | PROT_WRITE},
    {0x8fff7000, 0x2008fff7000, PROT_NONE},
    {0x2008fff7000, 0x10007fff8000, PROT_READ | PROT_WRITE},
};

// The byte for an address, as the sanitizer has it.
static volatile char *shadow(unsigned long address) { return (volatile char *)((address >> 3) + 0x7fff8000); }

static int sum(void) {
    int found = 0;
    for (unsigned long address = 0x10007fff8000; address < 0x700000000000; address += 0x70000000000) found += *shadow(address);
    return found + *shadow(0x10000);
}

int main(void) {
    for (int i = 0; i < 3; i++) {
        unsigned long start = RANGES[i].start;
        void *made = mmap((void *)start, RANGES[i].end - start, RANGES[i].protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
        printf("%d: %s\n", i, made == (void *)start ? "kept" : strerror(errno));
    }
    fflush(stdout);
    for (unsigned long address = 0x10007fff8000; address < 0x700000000000; address += 0x70000000000) *shadow(address) = 1;
    *shadow(0x10000) = 5;
    printf("%d\n", sum());
    printf("%d\n", madvise((void *)RANGES[2].start, RANGES[2].end - RANGES[2].start, MADV_DONTDUMP));
    fflush(stdout);
    if (fork() == 0) {
        *shadow(0x10000) = 7;
        printf("child %d\n", sum());
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    printf("%d\n", sum());
    printf("%d\n", madvise((void *)RANGES[2].start, 0x100000000, MADV_DONTNEED));
    return 0;
}
