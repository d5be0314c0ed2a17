/* call: futex; covers: four threads and one counter; also: musl dynamic */
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static void *count(void *argument)
{
    for (int round = 0; round < 10000; round++) {
        pthread_mutex_lock(&lock);
        counter++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    for (int number = 0; number < 4; number++)
        pthread_create(&threads[number], NULL, count, NULL);
    for (int number = 0; number < 4; number++)
        pthread_join(threads[number], NULL);
    say("%ld\n", counter);
    return 0;
}
