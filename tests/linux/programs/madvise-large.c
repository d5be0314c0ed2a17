/* call: madvise; covers: MADV_DONTNEED of much memory, of its middle, with neighbours, in a forked child, while another thread writes, without the right to write; also: musl */
#include "check.h"

enum { PAGE = 4096, PAGES = 256 };

static int is_all(const char *from, int pages, char value)
{
    for (int at = 0; at < pages * PAGE; at += 512)
        if (from[at] != value)
            return 0;
    return 1;
}

static char *fresh(void)
{
    char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 7, PAGES * PAGE);
    return memory;
}

static void look(char *memory, int from, int pages)
{
    SHOW(madvise(memory + from * PAGE, pages * PAGE, MADV_DONTNEED));
    HOLDS(is_all(memory, from, 7));
    HOLDS(is_all(memory + from * PAGE, pages, 0));
    HOLDS(is_all(memory + (from + pages) * PAGE, PAGES - from - pages, 7));
    memset(memory, 7, PAGES * PAGE);
}

static volatile int over;

static void *write_on(void *memory)
{
    while (!over)
        for (int page = 0; page < PAGES; page++)
            ((volatile char *)memory)[page * PAGE] = 7;
    return NULL;
}

static void beside_a_thread(char *memory)
{
    pthread_t thread;
    SHOW(pthread_create(&thread, NULL, write_on, memory));
    for (int round = 0; round < 10; round++) {
        usleep(1000);
        madvise(memory + PAGE, (PAGES - 2) * PAGE, MADV_DONTNEED);
    }
    over = 1;
    SHOW(pthread_join(thread, NULL));
    HOLDS(memory[PAGE + 1] == 0 && memory[1] == 7);
}

int main(void)
{
    char *memory = fresh();
    look(memory, 16, 64);
    look(memory, 0, 3);
    look(memory, 1, PAGES - 2);
    SHOW(mprotect(memory + 32 * PAGE, 32 * PAGE, PROT_NONE));
    SHOW(madvise(memory, 128 * PAGE, MADV_DONTNEED));
    SHOW(mprotect(memory + 32 * PAGE, 32 * PAGE, PROT_READ | PROT_WRITE));
    HOLDS(is_all(memory, 128, 0) && is_all(memory + 128 * PAGE, 128, 7));
    memset(memory, 7, PAGES * PAGE);
    pid_t child = fork();
    if (child == 0) {
        look(memory, 100, 100);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    HOLDS(is_all(memory, PAGES, 7));
    beside_a_thread(memory);
    return 0;
}
