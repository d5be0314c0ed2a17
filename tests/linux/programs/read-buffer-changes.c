/* call: read, write, munmap, mprotect, fork; covers: a thread that waits in read or write while another one takes its buffer away, makes it read-only, or forks; also: musl dynamic */
#include "check.h"

#define SIZE (1L << 20)
#define ROUNDS 40

static int ends[2];
static char *memory;

static char *fresh(void)
{
    char *area = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(area, 1, SIZE);
    return area;
}

static void *read_one(void *result)
{
    errno = 0;
    long count = read(ends[0], memory + SIZE / 2, 1);
    *(long *)result = count < 0 ? -errno : count;
    return NULL;
}

static void *write_all(void *result)
{
    errno = 0;
    long count = write(ends[1], memory, SIZE);
    *(long *)result = count < 0 ? -errno : count;
    return NULL;
}

/* Every byte comes, though the page that it is for became a child's as well while it was awaited. */
static void forks(void)
{
    int lost = 0;
    memory = fresh();
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        long result;
        char byte = 'a' + round % 20;
        pthread_create(&thread, NULL, read_one, &result);
        sched_yield();
        pid_t child = fork();
        if (child == 0)
            _exit(memory[0] != 1);
        write(ends[1], &byte, 1);
        pthread_join(thread, NULL);
        waitpid(child, NULL, 0);
        lost += result != 1 || memory[SIZE / 2] != byte;
    }
    HOLDS(lost == 0);
    munmap(memory, SIZE);
}

/* What nobody got is still there, or is not. */
static void drain(void)
{
    struct pollfd there = {.fd = ends[0], .events = POLLIN};
    char byte;
    while (poll(&there, 1, 0) == 1)
        read(ends[0], &byte, 1);
}

static void taken(int protects)
{
    pthread_t thread;
    long result;
    memory = fresh();
    pthread_create(&thread, NULL, read_one, &result);
    nap(20);
    if (protects)
        mprotect(memory, SIZE, PROT_READ);
    else
        munmap(memory, SIZE);
    write(ends[1], "x", 1);
    pthread_join(thread, NULL);
    drain();
    say("%s: %ld\n", protects ? "read-only" : "unmapped", result);
}

static void all(void)
{
    taken(0);
    taken(1);
    forks();
    taken(0);
    taken(1);
}

/* The pipe is full, and the rest of what is written goes. */
static void write_taken(void)
{
    static char drained[65536];
    pthread_t thread;
    long result;
    int there = 0;
    memory = fresh();
    pthread_create(&thread, NULL, write_all, &result);
    while (there < 65536)
        ioctl(ends[0], FIONREAD, &there);
    nap(20);
    munmap(memory, SIZE);
    for (int got = 0; got < 65536;)
        got += read(ends[0], drained, sizeof drained);
    pthread_join(thread, NULL);
    say("written: %ld\n", result);
}

int main(void)
{
    SHOW(pipe(ends));
    all();
    SHOW(pipe(ends));
    write_taken();
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    all();
    return 0;
}
