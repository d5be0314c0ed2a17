/* Three threads, each of which computes a sum over memory of its own that it writes all the time, and
   counts its rounds in memory that all have, until SIGTERM comes. Each sum is the same each time,
   and no round is lost, whoever moves the memory meanwhile. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE = 96 << 10, THREADS = 3, ROUNDS = 8 };

static volatile sig_atomic_t ends;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long rounds, own[THREADS], *shared;

static void end(int number) {
    (void)number;
    ends = 1;
}

static unsigned long sum_all(unsigned *words, unsigned seed) {
    unsigned long sum = 0;
    memset(words, 0, SIZE);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (size_t at = 0; at < SIZE / 4; at += 16) sum += words[at], words[at] = words[at] * 31 + round + at + seed;
        if (!ends) usleep(3000);
    }
    return sum;
}

static void *work(void *given) {
    size_t number = (size_t)given;
    unsigned *words = malloc(SIZE);
    unsigned long first = sum_all(words, number);
    do {
        if (sum_all(words, number) != first) printf("thread %zu: another sum\n", number);
        pthread_mutex_lock(&lock);
        rounds++, shared[number * 512]++, own[number]++;
        pthread_mutex_unlock(&lock);
    } while (!ends);
    return (void *)first;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    shared = calloc(THREADS, 4096);
    signal(SIGTERM, end);
    for (size_t number = 0; number < THREADS; number++) pthread_create(&threads[number], &small, work, (void *)number);
    /* Whoever waits for this file may begin. */
    close(creat("/tmp/ready", 0600));
    unsigned long all = 0, counted = 0;
    for (int number = 0; number < THREADS; number++) {
        void *sum;
        pthread_join(threads[number], &sum);
        all += (unsigned long)sum;
        counted += shared[number * 512] == own[number] ? own[number] : 0;
    }
    printf("%lx %s\n", all, counted == rounds && rounds ? "none lost" : "LOST");
    return 0;
}
