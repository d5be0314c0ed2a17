/* call: futex; covers: a queue between producers and consumers; also: musl dynamic */
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static int queue[4], filled, total;

static void *produce(void *argument)
{
    for (int value = 1; value <= 500; value++) {
        pthread_mutex_lock(&lock);
        while (filled == 4)
            pthread_cond_wait(&change, &lock);
        queue[filled++] = value;
        pthread_cond_broadcast(&change);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *consume(void *argument)
{
    for (int count = 0; count < 500; count++) {
        pthread_mutex_lock(&lock);
        while (filled == 0)
            pthread_cond_wait(&change, &lock);
        total += queue[--filled];
        pthread_cond_broadcast(&change);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    for (int number = 0; number < 4; number++)
        pthread_create(&threads[number], NULL, number % 2 ? produce : consume, NULL);
    for (int number = 0; number < 4; number++)
        pthread_join(threads[number], NULL);
    say("%d %d\n", total, filled);
    return 0;
}
