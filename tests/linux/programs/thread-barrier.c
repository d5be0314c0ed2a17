/* call: futex; covers: all wait for the last, round after round */
#include "check.h"

static pthread_barrier_t barrier;
static int arrived, early, serial;

static void *start(void *argument)
{
    for (int round = 1; round <= 50; round++) {
        __atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_add_fetch(&serial, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < round * 3)
            __atomic_add_fetch(&early, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[3];
    pthread_barrier_init(&barrier, NULL, 3);
    for (int number = 0; number < 3; number++)
        pthread_create(&threads[number], NULL, start, NULL);
    for (int number = 0; number < 3; number++)
        pthread_join(threads[number], NULL);
    say("%d %d %d\n", arrived, early, serial);
    return 0;
}
