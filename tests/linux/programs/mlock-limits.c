/* call: mlock, munlock, mlockall, munlockall, mmap, madvise, msync; covers: the limit of who is not privileged, and what locked memory forbids */
#include "check.h"

static char *map(int pages, int flags)
{
    char *start = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    say("mapped: %s\n", start == MAP_FAILED ? error_name(errno) : "yes");
    return start;
}

static void limited(void)
{
    struct rlimit four = {4 * 4096, 4 * 4096};
    SHOW(setrlimit(RLIMIT_MEMLOCK, &four));
    SHOW(setresuid(1000, 1000, 1000));
    char *pages = map(8, 0);
    SHOW(mlock(pages, 5 * 4096));
    SHOW(mlock(pages, 3 * 4096));
    SHOW(mlock(pages, 4 * 4096));
    SHOW(mlock(pages + 4 * 4096, 1));
    SHOW(munlock(pages + 4096, 4096));
    SHOW(mlock(pages + 4 * 4096, 1));
    map(1, MAP_LOCKED);
    SHOW(munmap(pages, 4096));
    map(1, MAP_LOCKED);
    SHOW(mlockall(MCL_CURRENT));
    SHOW(munlockall());
    SHOW(mlockall(MCL_FUTURE));
    map(4, 0);
    map(1, 0);
    SHOW(munlockall());
    map(1, 0);
    struct rlimit none = {0, 0};
    SHOW(setrlimit(RLIMIT_MEMLOCK, &none));
    SHOW(mlock(pages + 4096, 4096));
    SHOW(mlockall(MCL_FUTURE));
    map(1, MAP_LOCKED);
    SHOW(munlock(pages + 4096, 4096));
}

static void forbidden(void)
{
    put_file("f", "text");
    char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open("f", O_RDWR), 0);
    char *own = map(2, 0);
    SHOW(mlock(own, 4096));
    SHOW(madvise(own, 4096, MADV_DONTNEED));
    SHOW(madvise(own + 4096, 4096, MADV_DONTNEED));
    SHOW(munlock(own, 4096));
    SHOW(madvise(own, 4096, MADV_DONTNEED));
    SHOW(msync(shared, 4096, MS_SYNC | MS_INVALIDATE));
    SHOW(mlockall(MCL_CURRENT));
    SHOW(msync(shared, 4096, MS_SYNC | MS_INVALIDATE));
    SHOW(msync(shared, 4096, MS_SYNC));
    SHOW(munlockall());
    SHOW(msync(shared, 4096, MS_ASYNC | MS_INVALIDATE));
}

static void moved(void)
{
    struct rlimit two = {2 * 4096, 2 * 4096};
    char *own = map(4, 0);
    SHOW(mlock(own, 4096));
    char *elsewhere = mmap(NULL, 8 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(mremap(own, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere) == elsewhere);
    SHOW(madvise(elsewhere, 4096, MADV_DONTNEED));
    SHOW(setrlimit(RLIMIT_MEMLOCK, &two));
    SHOW(setresuid(1000, 1000, 1000));
    SHOW(mlock(own + 4096, 2 * 4096));
    SHOW(mlock(own + 4096, 4096));
}

int main(void)
{
    in_child(limited);
    in_child(forbidden);
    in_child(moved);
    return 0;
}
