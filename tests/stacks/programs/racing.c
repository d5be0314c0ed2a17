// Threads that all touch the same pages while others put them away: `racing SEED ROUNDS` ends with 0 if every thread finds what it wrote.
// Pages are advised away, locked, cleared and read into meanwhile. A child does the same with its copies.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 112, THREADS = 4, TOUCHES = 80, PINNED = 4 };

static unsigned char *memory, *scratch;
static atomic_int wrong, working;
static uint64_t seed;

static uint64_t next(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dull >> 11;
}

static void fault(const char *what) {
    if (wrong++ < 5) printf("seed %lu: %s\n", (unsigned long)seed, what);
}

// Each page has a word for each thread, which counts that thread's touches.
static uint32_t *word_of(int page, long thread) {
    return (uint32_t *)(memory + page * PAGE) + thread * 7 + page % 5;
}

static void *touch(void *number) {
    long own = (long)number;
    uint64_t state = seed * 77 + own * 0x9e3779b97f4a7c15ull + 1;
    static __thread uint32_t counts[PAGES];
    for (int page = 0; page < PAGES; page++) counts[page] = *word_of(page, own);
    for (int i = 0; i < TOUCHES; i++) {
        int page = next(&state) % PAGES;
        if (*word_of(page, own) != counts[page]) fault("a thread's word is another");
        if (i % 3 != 0) *word_of(page, own) = ++counts[page];
    }
    for (int page = 0; page < PAGES; page++)
        if (*word_of(page, own) != counts[page]) fault("a thread's word is another in the end");
    working--;
    return NULL;
}

// Reads bytes from a pipe into a page that was put away.
static void receive(const int *ends, unsigned char *page, uint64_t *state) {
    unsigned char sent[64];
    memset(sent, next(state), sizeof sent);
    madvise(page, PAGE, MADV_PAGEOUT);
    if (write(ends[1], sent, sizeof sent) != sizeof sent || read(ends[0], page + 1000, sizeof sent) != sizeof sent) fault("a pipe");
    if (memcmp(page + 1000, sent, sizeof sent) != 0) fault("what was read is another");
}

// Does to random pages whatever does not change what is in them, and clears pages of its own.
static void *disturb(void *ends) {
    static const int advice[] = {MADV_PAGEOUT, MADV_COLD, MADV_WILLNEED, MADV_PAGEOUT};
    uint64_t state = seed * 31 + 7;
    while (working > 0) {
        int page = next(&state) % (PAGES - 16);
        unsigned char *at = memory + page * PAGE, *own = scratch + page % 64 * PAGE;
        madvise(at, (1 + next(&state) % 16) * PAGE, advice[next(&state) % 4]);
        if (next(&state) % 4 == 0) mlock(at, PINNED * PAGE), munlock(at, PINNED * PAGE);
        *own = 1;
        if (madvise(own, PAGE, MADV_DONTNEED) == 0 && *own != 0) fault("a page that was cleared is not");
        receive(ends, own, &state);
    }
    return NULL;
}

static void round_of_all(void) {
    pthread_t threads[THREADS], other;
    int ends[2];
    working = THREADS;
    if (pipe(ends) != 0) fault("no pipe");
    for (long number = 0; number < THREADS; number++) pthread_create(&threads[number], NULL, touch, (void *)number);
    pthread_create(&other, NULL, disturb, ends);
    for (int number = 0; number < THREADS; number++) pthread_join(threads[number], NULL);
    pthread_join(other, NULL);
    close(ends[0]), close(ends[1]);
}

int main(int count, char **words) {
    if (count < 3) return 2;
    setvbuf(stdout, NULL, _IONBF, 0);
    seed = strtoull(words[1], NULL, 10);
    memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    scratch = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || scratch == MAP_FAILED) return 2;
    for (int round = 0; round < atoi(words[2]); round++, seed++) {
        memset(memory, 0x5a, PAGES * PAGE);
        pid_t child = fork();
        round_of_all();
        if (child == 0) _exit(wrong != 0);
        int status = 1;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) fault("a child");
    }
    return wrong != 0;
}
