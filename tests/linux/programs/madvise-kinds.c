/* call: madvise, mlock; covers: each advice on each kind of memory, with gaps and locks, and what POPULATE, REMOVE, FREE, COLD and PAGEOUT leave */
#include "check.h"

#define PAGE 4096L

static const int all[] = {MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED, MADV_FREE, MADV_REMOVE, MADV_DONTFORK, MADV_DOFORK,
    MADV_WIPEONFORK, MADV_KEEPONFORK, MADV_DONTDUMP, MADV_DODUMP, MADV_COLD, MADV_PAGEOUT, 22, 23, 24, 26, 99};

static void each(const char *name, char *at, long size)
{
    say("%s:", name);
    for (unsigned index = 0; index < sizeof all / sizeof all[0]; index++) {
        errno = 0;
        int result = madvise(at, size, all[index]);
        say(" %d=%s", all[index], result ? error_name(errno) : "0");
    }
    say("\n");
}

static char *map(int protection, int flags, int file)
{
    return mmap(NULL, 4 * PAGE, protection, flags | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);
}

static void kinds(void)
{
    put_file("f", "text");
    int file = open("f", O_RDWR), reads = open("f", O_RDONLY);
    int memory = syscall(SYS_memfd_create, "m", 0);
    ftruncate(memory, 4 * PAGE);
    ftruncate(file, 4 * PAGE);
    each("private", map(3, MAP_PRIVATE, -1), 4 * PAGE);
    each("to be read", map(1, MAP_PRIVATE, -1), 4 * PAGE);
    each("none", map(0, MAP_PRIVATE, -1), 4 * PAGE);
    each("shared", map(3, MAP_SHARED, -1), 4 * PAGE);
    each("shared, to be read", map(1, MAP_SHARED, -1), 4 * PAGE);
    each("file", map(3, MAP_PRIVATE, file), 4 * PAGE);
    each("shared file", map(3, MAP_SHARED, file), 4 * PAGE);
    each("shared file, to be read", map(1, MAP_SHARED, reads), 4 * PAGE);
    each("memfd", map(3, MAP_SHARED, memory), 4 * PAGE);
    char *locked = map(3, MAP_PRIVATE, -1);
    SHOW(mlock(locked + PAGE, PAGE));
    each("locked", locked, 4 * PAGE);
    char *gap = map(3, MAP_PRIVATE, -1);
    munmap(gap + PAGE, PAGE);
    each("gap", gap, 4 * PAGE);
    each("nothing", gap, 0);
    each("odd", gap + 1, PAGE);
}

static void contents(void)
{
    int memory = syscall(SYS_memfd_create, "m", 0);
    ftruncate(memory, 4 * PAGE);
    char *first = map(3, MAP_SHARED, memory), *second = map(3, MAP_SHARED, memory), *shared = map(3, MAP_SHARED, -1);
    memset(first, 'a', 4 * PAGE);
    memset(shared, 'b', 4 * PAGE);
    SHOW(madvise(first + PAGE, PAGE, MADV_REMOVE));
    SHOW(madvise(shared + PAGE, PAGE, MADV_REMOVE));
    say("%d %d %d, %d %d %d\n", second[0], second[PAGE], second[2 * PAGE], shared[0], shared[PAGE], shared[2 * PAGE]);
    SHOW(madvise(shared, 4 * PAGE, MADV_DONTNEED));
    say("%d\n", shared[0]);
    char *own = map(3, MAP_PRIVATE, -1);
    memset(own, 'c', 4 * PAGE);
    SHOW(madvise(own, PAGE, MADV_COLD));
    SHOW(madvise(own, 2 * PAGE, MADV_PAGEOUT));
    SHOW(madvise(own, 2 * PAGE, MADV_WILLNEED));
    say("%c%c%c\n", own[0], own[PAGE], own[2 * PAGE]);
    SHOW(madvise(own + 2 * PAGE, PAGE, MADV_FREE));
    own[2 * PAGE] = 'd';
    say("%c %c\n", own[2 * PAGE], own[3 * PAGE]);
}

static void populated(void)
{
    unsigned char seen[4];
    char *own = map(3, MAP_PRIVATE, -1);
    SHOW(madvise(own, 3 * PAGE, 22));
    mincore(own, 3 * PAGE, seen);
    say("%d%d%d %d\n", seen[0] & 1, seen[1] & 1, seen[2] & 1, own[0]);
    SHOW(madvise(own, 3 * PAGE, 23));
    mprotect(own, PAGE, PROT_READ);
    SHOW(madvise(own, 2 * PAGE, 23));
    SHOW(madvise(own, 2 * PAGE, 22));
    int file = open("f", O_RDWR);
    ftruncate(file, PAGE);
    char *short_file = map(3, MAP_SHARED, file);
    SHOW(madvise(short_file, PAGE, 22));
}

int main(void)
{
    kinds();
    contents();
    populated();
    return 0;
}
