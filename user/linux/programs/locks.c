/* Locks of every kind between threads, and what becomes of them when their owner ends. */
#include "check.h"
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

/* Not every C library has linux/futex.h. */
enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1, FUTEX_CMP_REQUEUE = 4, FUTEX_WAKE_OP = 5, FUTEX_WAIT_BITSET = 9, FUTEX_PRIVATE = 128, FUTEX_CLOCK_REALTIME = 256 };
/* FUTEX_OP_ADD of 3, and wake if it was 5. */
#define ADD_3_IF_5 (1 << 28 | 3 << 12 | 5)
#define THREADS 4
#define ROUNDS 200

static pthread_mutex_t lock;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t slots;
static long guarded;
static int word;

static long futex(int operation, int value, const struct timespec *limit, int *second, unsigned bits)
{
    return syscall(SYS_futex, &word, operation, value, limit, second, bits);
}

static void *add(void *argument)
{
    for (int round = 0; round < ROUNDS; round++) {
        int result = pthread_mutex_lock(&lock);
        if (result)
            printf("lock %s\n", strerror(result));
        guarded++;
        if (round % 16 == 0)
            sched_yield();
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *meet(void *argument)
{
    long firsts = 0;
    for (int round = 0; round < 50; round++) {
        firsts += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
        if (round % 5 == (long)argument) {
            pthread_rwlock_wrlock(&shared);
            guarded++;
        } else {
            pthread_rwlock_rdlock(&shared);
        }
        pthread_rwlock_unlock(&shared);
        sem_wait(&slots);
        sem_post(&slots);
    }
    return (void *)firsts;
}

static void *keep(void *argument)
{
    pthread_mutex_lock(&lock);
    return NULL;
}

static void *wait_word(void *argument)
{
    return (void *)futex(FUTEX_WAIT | FUTEX_PRIVATE, 0, NULL, NULL, 0);
}

static long run(void *(*function)(void *))
{
    pthread_t threads[THREADS];
    void *result;
    long sum = 0;
    for (long number = 0; number < THREADS; number++)
        pthread_create(&threads[number], NULL, function, (void *)number);
    for (int number = 0; number < THREADS; number++) {
        pthread_join(threads[number], &result);
        sum += (long)result;
    }
    return sum;
}

static void kinds(void)
{
    pthread_mutexattr_t attributes;
    for (int kind = 0; kind < 8; kind++) {
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setprotocol(&attributes, kind & 1 ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
        pthread_mutexattr_setrobust(&attributes, kind & 2 ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED);
        pthread_mutexattr_settype(&attributes, kind & 4 ? PTHREAD_MUTEX_ERRORCHECK : PTHREAD_MUTEX_NORMAL);
        guarded = 0;
        printf("kind %d: %d\n", kind, pthread_mutex_init(&lock, &attributes));
        run(add);
        SHOW(guarded);
        if (kind & 4) {
            pthread_mutex_lock(&lock);
            SHOW(pthread_mutex_lock(&lock));
            pthread_mutex_unlock(&lock);
            SHOW(pthread_mutex_unlock(&lock));
        }
        if (kind & 2) {
            pthread_t thread;
            pthread_create(&thread, NULL, keep, NULL);
            pthread_join(thread, NULL);
            SHOW(pthread_mutex_lock(&lock));
            SHOW(pthread_mutex_consistent(&lock));
            SHOW(pthread_mutex_unlock(&lock));
            SHOW(pthread_mutex_trylock(&lock));
            SHOW(pthread_mutex_unlock(&lock));
        }
    }
}

static void operations(void)
{
    struct timespec brief = {0, 1000000}, past = {1, 0}, wrong = {0, 1000000000};
    int second = 5;
    pthread_t threads[3];
    SHOW(futex(FUTEX_WAIT, 1, NULL, NULL, 0));
    SHOW(futex(FUTEX_WAIT, 0, &brief, NULL, 0));
    SHOW(futex(FUTEX_WAIT, 0, &wrong, NULL, 0));
    SHOW(futex(FUTEX_WAIT_BITSET, 0, &past, NULL, 1));
    SHOW(futex(FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &past, NULL, 1));
    SHOW(futex(FUTEX_WAIT_BITSET, 0, NULL, NULL, 0));
    SHOW(futex(FUTEX_WAKE, 1, NULL, NULL, 0));
    SHOW(futex(99, 1, NULL, NULL, 0));
    SHOW(syscall(SYS_futex, (char *)&word + 1, FUTEX_WAKE, 1, NULL, NULL, 0));
    SHOW(syscall(SYS_futex, 8, FUTEX_WAIT, 1, NULL, NULL, 0));
    for (int number = 0; number < 3; number++)
        pthread_create(&threads[number], NULL, wait_word, NULL);
    /* Waiters that move to another word and back are there. */
    for (long moved = 0; moved < 3; sched_yield())
        moved += futex(FUTEX_CMP_REQUEUE | FUTEX_PRIVATE, 0, (void *)3, &second, 0);
    SHOW(syscall(SYS_futex, &second, FUTEX_CMP_REQUEUE | FUTEX_PRIVATE, 0, 3, &word, 5));
    SHOW(futex(FUTEX_CMP_REQUEUE | FUTEX_PRIVATE, 1, (void *)1, &second, 7));
    SHOW(futex(FUTEX_CMP_REQUEUE | FUTEX_PRIVATE, 1, (void *)1, &second, 0));
    SHOW(futex(FUTEX_WAKE_OP | FUTEX_PRIVATE, 9, (void *)9, &second, ADD_3_IF_5));
    SHOW(second);
    for (int number = 0; number < 3; number++)
        pthread_join(threads[number], NULL);
}

int main(void)
{
    kinds();
    pthread_barrier_init(&barrier, NULL, THREADS);
    sem_init(&slots, 0, 2);
    guarded = 0;
    SHOW(run(meet));
    SHOW(guarded);
    operations();
    return 0;
}
