/* Threads that are made, take turns, and are joined. */
#include "check.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int count, turn;

static void *take_turns(void *argument)
{
    long number = (long)argument;
    for (int round = 0; round < 100; round++) {
        pthread_mutex_lock(&lock);
        while (turn % 4 != number)
            pthread_cond_wait(&changed, &lock);
        count++;
        turn++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return (void *)(number * 10);
}

static void *leave(void *argument)
{
    static __thread int own = 5;
    own += (int)(long)argument;
    pthread_exit((void *)(long)own);
}

static void *last(void *argument)
{
    pthread_join(*(pthread_t *)argument, NULL);
    puts("the first thread has ended");
    fflush(stdout);
    return NULL;
}

int main(void)
{
    pthread_t threads[4], main_thread = pthread_self();
    void *result;
    for (int round = 0; round < 3; round++) {
        long sum = 0;
        for (long number = 0; number < 4; number++)
            SHOW(pthread_create(&threads[number], NULL, take_turns, (void *)number));
        for (int number = 0; number < 4; number++) {
            pthread_join(threads[number], &result);
            sum += (long)result;
        }
        printf("round %d: %d, %ld\n", round, count, sum);
    }
    SHOW(pthread_create(&threads[0], NULL, leave, (void *)37));
    SHOW(pthread_join(threads[0], &result));
    SHOW(result);
    SHOW(syscall(SYS_tgkill, getpid(), 99999, 0));
    SHOW(syscall(SYS_clone, 0x10000, 0, 0, 0, 0));
    pthread_create(&threads[0], NULL, last, &main_thread);
    pthread_exit(NULL);
}
