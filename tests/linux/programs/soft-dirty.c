/* call: write, mmap, mprotect, mremap, madvise, read, fork; covers: clear_refs, and bit 55 of pagemap */
#include "check.h"
#include <pthread.h>

enum { PAGES = 8, SIZE = 4096 };

static int map, refs;

static int clear(const char *text)
{
    return write(refs, text, strlen(text));
}

/* Which of some pages were written, as a word of 0 and 1. */
static void dirty(const char *name, const char *start, int count)
{
    uint64_t words[PAGES] = {0};
    ssize_t got = pread(map, words, count * 8, (uintptr_t)start / SIZE * 8);
    printf("%s:", name);
    for (int page = 0; page < count; page++)
        printf(" %d", got == count * 8 ? (int)(words[page] >> 55 & 1) : -1);
    printf("\n");
}

/* Pages between others that cannot be used: an area that joins a later one has all of its pages written, on Linux. */
static char *fresh(void)
{
    char *all = mmap(NULL, (PAGES + 2) * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(all + SIZE, PAGES * SIZE, PROT_READ | PROT_WRITE);
    return all + SIZE;
}

static void *writes(void *page)
{
    *(volatile char *)page = 9;
    return NULL;
}

static char data[3 * SIZE] __attribute__((aligned(4096))) = {1};

int main(void)
{
    map = open("/proc/self/pagemap", O_RDONLY);
    refs = open("/proc/self/clear_refs", O_WRONLY);
    char *pages = fresh(), *zero = fresh();
    pages[0] = 1;
    dirty("fresh", pages, PAGES);
    SHOW(clear("4\n"));
    dirty("cleared", pages, PAGES);
    dirty("nobody touched", zero, PAGES);
    pages[SIZE] = 1;
    pages[3 * SIZE + 5] = pages[0];
    dirty("written", pages, PAGES);

    /* The kernel writes, too, and a signal's handler on its stack, and another thread. */
    int ends[2];
    pipe(ends);
    write(ends[1], "some bytes", 10);
    SHOW(read(ends[0], pages + 5 * SIZE - 4, 10));
    printf("%.10s\n", pages + 5 * SIZE - 4);
    pthread_t thread;
    pthread_create(&thread, NULL, writes, pages + 7 * SIZE);
    pthread_join(thread, NULL);
    dirty("by others", pages, PAGES);

    SHOW(clear("4"));
    dirty("again", pages, PAGES);
    mprotect(pages, 4 * SIZE, PROT_READ);
    dirty("protected", pages, PAGES);
    mprotect(pages, 4 * SIZE, PROT_READ | PROT_WRITE);
    pages[2 * SIZE] = 3;
    data[SIZE] = 4;
    dirty("written since", pages, PAGES);
    dirty("of the program", data, 3);
    char *young = fresh();
    dirty("mapped since", young, 2);
    munmap(pages + SIZE, SIZE);
    dirty("with a hole", pages, PAGES);

    SHOW(clear("4"));
    pid_t child = fork();
    if (child == 0) {
        pages[0] = 8;
        _exit(pages[2 * SIZE]);
    }
    int status;
    waitpid(child, &status, 0);
    printf("child: %d, here: %d\n", WEXITSTATUS(status), pages[0]);
    pages[4 * SIZE] = 6;
    printf("bytes: %d %d %d\n", pages[0], pages[4 * SIZE], pages[7 * SIZE]);

    const char *texts[] = {"1", "2", "3", "5", "0", "6", "x", "", "4x", " 4 "};
    for (unsigned one = 0; one < sizeof texts / sizeof *texts; one++) {
        errno = 0;
        int done = clear(texts[one]);
        printf("'%s': %d %s\n", texts[one], done, done < 0 ? strerror(errno) : "");
    }
    return 0;
}
