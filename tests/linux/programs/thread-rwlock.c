/* call: futex; covers: readers together, writers alone; also: musl */
#include "check.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int value[2], torn;

static void *reader(void *argument)
{
    for (int round = 0; round < 2000; round++) {
        pthread_rwlock_rdlock(&lock);
        torn += value[0] != value[1];
        pthread_rwlock_unlock(&lock);
    }
    return NULL;
}

static void *writer(void *argument)
{
    for (int round = 0; round < 2000; round++) {
        pthread_rwlock_wrlock(&lock);
        value[0]++, value[1]++;
        pthread_rwlock_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    for (int number = 0; number < 4; number++)
        pthread_create(&threads[number], NULL, number % 2 ? reader : writer, NULL);
    for (int number = 0; number < 4; number++)
        pthread_join(threads[number], NULL);
    say("%d %d\n", value[0], torn);
    SHOW(pthread_rwlock_rdlock(&lock));
    SHOW(pthread_rwlock_tryrdlock(&lock));
    say("%s\n", error_name(pthread_rwlock_trywrlock(&lock)));
    return 0;
}
