/* Threads that write beside watched memory while mappings change, and a write that is forbidden. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

enum { THREADS = 4, WRITES = 150, PAGE = 4096 };
volatile long memory[PAGE / sizeof(long)] __attribute__((aligned(PAGE)));
static volatile int faults;

__attribute__((noinline)) static void begin(void)
{
    asm volatile("");
}

static void forbidden(int signal)
{
    (void)signal;
    faults++;
    mprotect((void *)memory, PAGE, PROT_READ | PROT_WRITE);
}

static void *thread(void *number)
{
    for (int i = 0; i < WRITES; i++)
        memory[1 + (long)number]++;
    return NULL;
}

int main(void)
{
    pthread_t made[THREADS];
    signal(SIGSEGV, forbidden);
    begin();
    memory[0] = 1;
    mprotect((void *)memory, PAGE, PROT_READ);
    memory[0] = 2;
    for (long i = 0; i < THREADS; i++)
        pthread_create(&made[i], NULL, thread, (void *)i);
    for (int i = 0; i < 50; i++)
        munmap(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
    memory[0] = 3;
    long written = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(made[i], NULL);
        written += memory[1 + i];
    }
    printf("faults %d, written %ld\n", faults, written);
    fflush(stdout);
    return 0;
}
