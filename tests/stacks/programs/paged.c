/* Uses more memory than it may have at once, in all ways in which a kernel or a library reaches it: what is read is what was written. Prints sums. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
static size_t pages = 1024;

static uint64_t mix(uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    return x;
}

static void check(int holds, const char *what) {
    if (!holds) {
        printf("wrong: %s\n", what);
        fflush(stdout);
        _exit(1);
    }
}

/* Every third page is noise, every third a pattern, every third zeros but for its number. */
static void fill(uint8_t *at, size_t page, unsigned round) {
    uint64_t *words = (uint64_t *)at;
    for (int i = 0; i < PAGE / 8; i++)
        words[i] = page % 3 == 0 ? mix(page * 512 + i + round) : page % 3 == 1 ? page + round : 0;
    words[0] = page ^ round;
}

static int is_filled(const uint8_t *at, size_t page, unsigned round) {
    static __thread uint64_t expected[PAGE / 8];
    fill((uint8_t *)expected, page, round);
    return memcmp(at, expected, PAGE) == 0;
}

static uint8_t *area(size_t size) {
    uint8_t *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(at != MAP_FAILED, "mmap");
    return at;
}

static void memory(void) {
    uint8_t *at = area(pages * PAGE);
    for (size_t page = 0; page < pages; page++)
        fill(at + page * PAGE, page, 1);
    for (size_t step = 0, page = 0; step < pages; step++, page = (page + 389) % pages)
        check(is_filled(at + page * PAGE, page, 1), "memory");
    for (size_t page = 0; page < pages; page += 5)
        fill(at + page * PAGE, page, 2);
    uint8_t *moved = mremap(at, pages * PAGE, 2 * pages * PAGE, MREMAP_MAYMOVE);
    check(moved != MAP_FAILED, "mremap");
    check(madvise(moved + 7 * PAGE, 9 * PAGE, MADV_DONTNEED) == 0, "madvise");
    for (size_t page = 0; page < pages; page++)
        if (page >= 7 && page < 16)
            check(moved[page * PAGE] == 0 && moved[page * PAGE + 8] == 0, "dropped");
        else
            check(is_filled(moved + page * PAGE, page, page % 5 ? 1 : 2), "moved");
    for (size_t page = pages; page < 2 * pages; page += 64)
        check(moved[page * PAGE + 17] == 0, "fresh");
    munmap(moved, 2 * pages * PAGE);
    puts("memory");
}

/* Answers of servers arrive in memory that may go while they are waited for. */
static void answers(void) {
    char name[] = "/tmp/paged.XXXXXX";
    int file = mkstemp(name), ends[2];
    size_t size = pages * PAGE / 4;
    uint8_t *at = area(size), *back = area(size);
    for (size_t page = 0; page < size / PAGE; page++)
        fill(at + page * PAGE, page, 3);
    check(write(file, at, size) == (ssize_t)size, "write");
    check(pread(file, back + 100, size - 100, 0) == (ssize_t)size - 100, "pread");
    check(memcmp(at, back + 100, size - 100) == 0, "what was read");
    struct iovec parts[3] = {{back, 5000}, {back + 50000, 9000}, {back + 200000, 1}};
    check(preadv(file, parts, 3, 10) == 14001 && memcmp(back, at + 10, 5000) == 0 && memcmp(back + 50000, at + 5010, 9000) == 0, "preadv");
    struct stat *status = (struct stat *)(back + 3 * PAGE - 40);
    check(fstat(file, status) == 0 && status->st_size == (off_t)size, "fstat over two pages");
    check(pipe(ends) == 0, "pipe");
    pid_t child = fork();
    if (child == 0) {
        for (size_t done = 0; done < size;) {
            ssize_t count = write(ends[1], at + done, size - done < 30000 ? size - done : 30000);
            check(count > 0, "write to the pipe");
            done += count;
        }
        _exit(0);
    }
    close(ends[1]);
    memset(back, 0, size);
    for (size_t done = 0; done < size;) {
        ssize_t count = read(ends[0], back + done, size - done);
        check(count > 0, "read from the pipe");
        done += count;
    }
    int ended;
    check(waitpid(child, &ended, 0) == child && ended == 0, "its writer");
    check(memcmp(at, back, size) == 0, "what came through the pipe");
    unlink(name);
    close(file);
    close(ends[0]);
    munmap(at, size);
    munmap(back, size);
    puts("answers");
}

/* Memory of a fork is copied when it is written, by either. */
static void forks(void) {
    uint8_t *at = area(pages * PAGE);
    for (size_t page = 0; page < pages; page++)
        fill(at + page * PAGE, page, 4);
    fflush(stdout);
    for (int round = 0; round < 3; round++) {
        pid_t child = fork();
        if (child == 0) {
            for (size_t page = round; page < pages; page += 7)
                fill(at + page * PAGE, page, 5);
            for (size_t page = 0; page < pages; page++)
                check(is_filled(at + page * PAGE, page, page >= (size_t)round && (page - round) % 7 == 0 ? 5 : 4), "the child's");
            _exit(0);
        }
        fill(at + 3 * PAGE, 3, 4);
        int ended;
        check(waitpid(child, &ended, 0) == child && ended == 0, "a child");
    }
    for (size_t page = 0; page < pages; page++)
        check(is_filled(at + page * PAGE, page, 4), "the parent's");
    munmap(at, pages * PAGE);
    puts("forks");
}

static uint8_t *shared;
static pthread_mutex_t *lock;
static uint64_t *total;

static void *work(void *argument) {
    size_t number = (size_t)argument, count = pages / 4;
    for (unsigned round = 0; round < 3; round++) {
        for (size_t page = number * count; page < (number + 1) * count; page++)
            fill(shared + page * PAGE, page, round);
        for (size_t page = number * count; page < (number + 1) * count; page++) {
            check(is_filled(shared + page * PAGE, page, round), "a thread's");
            pthread_mutex_lock(lock);
            ++*total;
            pthread_mutex_unlock(lock);
        }
    }
    return NULL;
}

/* Threads, whose lock lies in memory that goes. */
static void threads(void) {
    pthread_t all[4];
    shared = area(pages * PAGE);
    lock = (pthread_mutex_t *)(area(PAGE) + 128);
    total = (uint64_t *)area(PAGE);
    pthread_mutex_init(lock, NULL);
    for (size_t i = 0; i < 4; i++)
        check(pthread_create(&all[i], NULL, work, (void *)i) == 0, "pthread_create");
    for (size_t i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
    check(*total == pages / 4 * 4 * 3, "the total");
    puts("threads");
}

static sigjmp_buf back;

static void caught(int signal) {
    (void)signal;
    siglongjmp(back, 1);
}

/* What may not be touched is a signal, whether it is there or not. */
static void signals(void) {
    uint8_t *at = area(64 * PAGE);
    for (size_t page = 0; page < 64; page++)
        fill(at + page * PAGE, page, 6);
    mprotect(at + 8 * PAGE, 8 * PAGE, PROT_READ);
    mprotect(at + 24 * PAGE, 8 * PAGE, PROT_NONE);
    munmap(at + 40 * PAGE, 8 * PAGE);
    signal(SIGSEGV, caught);
    int count = 0;
    for (volatile int page = 0; page < 64; page++) {
        if (sigsetjmp(back, 1) == 0)
            at[page * PAGE + 9] = 1;
        else
            count++;
    }
    check(count == 24, "signals");
    check(write(1, at + 40 * PAGE, 1) == -1 && write(1, at + 24 * PAGE, 1) == -1, "EFAULT");
    for (size_t page = 8; page < 16; page++)
        check(is_filled(at + page * PAGE, page, 6), "what could not be written");
    puts("signals");
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1)
        pages = strtoul(argv[1], NULL, 10);
    memory();
    signals();
    if (argc > 2)
        return 0;
    answers();
    forks();
    threads();
    return 0;
}
