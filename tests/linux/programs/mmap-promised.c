/* call: mmap; covers: memory that is promised and touched here and there: more than there is, read into, given back in part, left to children, with threads */
#include "check.h"

enum { PAGE = 4096 };
#define MIB (1l << 20)

static char *promise(long size, int flags)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static long sum(const char *from, long size, long step)
{
    long found = 0;
    for (long at = 0; at < size; at += step)
        found += (unsigned char)from[at];
    return found;
}

/* Pages far from each other, upward and downward. */
static void here_and_there(void)
{
    char *memory = promise(8192 * MIB, MAP_NORESERVE);
    HOLDS(memory != MAP_FAILED);
    for (long at = 0; at < 8192 * MIB; at += 64 * MIB)
        memory[at] = 1;
    for (long at = 8192 * MIB - 1; at > 0; at -= 256 * MIB)
        memory[at] = 2;
    HOLDS(sum(memory, 8192 * MIB, 64 * MIB) == 128);
    HOLDS(memory[64 * MIB + 1] == 0 && memory[8192 * MIB - 1] == 2 && memory[7 * MIB] == 0);
    SHOW(munmap(memory, 8192 * MIB));
}

/* A server's answer lands where nobody has been. */
static void read_into(void)
{
    char *memory = promise(16 * MIB, 0), *text = malloc(300000);
    int file = open("text", O_RDWR | O_CREAT, 0600), ends[2];
    memset(text, 'x', 300000);
    SHOW(write(file, text, 300000));
    SHOW(pread(file, memory + 5 * MIB + 100, 300000, 0));
    HOLDS(memcmp(memory + 5 * MIB + 100, text, 300000) == 0 && memory[5 * MIB + 99] == 0 && memory[5 * MIB + 300100] == 0);
    SHOW(pipe(ends));
    SHOW(write(ends[1], text, 40000));
    SHOW(read(ends[0], memory + 9 * MIB - 7, 40000));
    HOLDS(memcmp(memory + 9 * MIB - 7, text, 40000) == 0);
    SHOW(pwrite(file, memory + 12 * MIB, 50000, 0));
    SHOW(pread(file, text, 60000, 0));
    HOLDS(sum(text, 50000, 1) == 0 && text[50000] == 'x');
    struct stat status;
    SHOW(fstat(file, (struct stat *)(memory + 14 * MIB)));
    SHOW(fstat(file, &status));
    HOLDS(memcmp(memory + 14 * MIB, &status, sizeof status) == 0);
    SHOW(munmap(memory, 16 * MIB));
}

static int is_all(const char *from, long size, char value)
{
    for (long at = 0; at < size; at += 512)
        if (from[at] != value)
            return 0;
    return 1;
}

/* Parts go, and are zeros when they are touched again. */
static void given_back(void)
{
    char *memory = promise(16 * MIB, 0);
    memset(memory, 7, 16 * MIB);
    SHOW(madvise(memory + 3 * PAGE, 5 * PAGE, MADV_DONTNEED));
    SHOW(madvise(memory + 4 * MIB + PAGE, 3 * MIB, MADV_DONTNEED));
    HOLDS(is_all(memory, 3 * PAGE, 7) && is_all(memory + 3 * PAGE, 5 * PAGE, 0) && is_all(memory + 8 * PAGE, 4 * MIB - 7 * PAGE, 7));
    HOLDS(is_all(memory + 4 * MIB + PAGE, 3 * MIB, 0) && is_all(memory + 7 * MIB + PAGE, 9 * MIB - PAGE, 7));
    memset(memory + 5 * MIB, 8, MIB);
    SHOW(munmap(memory + 8 * MIB, 4 * MIB));
    HOLDS(is_all(memory + 5 * MIB, MIB, 8) && is_all(memory + 6 * MIB, MIB, 0) && is_all(memory + 12 * MIB, 4 * MIB, 7));
    char *moved = mremap(memory, 8 * MIB, 24 * MIB, MREMAP_MAYMOVE);
    HOLDS(moved != MAP_FAILED && is_all(moved + 5 * MIB, MIB, 8) && is_all(moved + 8 * MIB, 16 * MIB, 0));
    SHOW(munmap(moved, 24 * MIB));
}

static char *common;

static void write_child(void)
{
    HOLDS(common[2 * MIB] == 3 && common[100 * MIB] == 0);
    common[2 * MIB] = 4;
    common[100 * MIB] = 5;
    HOLDS(common[2 * MIB] == 4 && common[100 * MIB] == 5 && common[50 * MIB] == 0);
}

static void *sleep_on(void *argument)
{
    for (;;)
        pause();
}

/* Nobody touches what a child of a process with threads does not need. */
static void left_to_children(void)
{
    common = promise(200 * MIB, 0);
    common[2 * MIB] = 3;
    in_child(write_child);
    HOLDS(common[2 * MIB] == 3 && common[100 * MIB] == 0);
    pthread_t thread;
    for (int number = 0; number < 20; number++)
        SHOW(pthread_create(&thread, NULL, sleep_on, NULL));
    in_child(write_child);
    HOLDS(common[2 * MIB] == 3 && common[100 * MIB] == 0);
}

int main(void)
{
    here_and_there();
    read_into();
    given_back();
    in_child(left_to_children);
    return 0;
}
