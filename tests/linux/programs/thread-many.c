/* call: clone, mmap, munmap; covers: 300 threads, one after the other and in tens */
#include "check.h"

static int ran;

static void *start(void *argument)
{
    __atomic_add_fetch(&ran, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

int main(void)
{
    pthread_t threads[10];
    int failed = 0;
    for (int round = 0; round < 100; round++) {
        failed += pthread_create(threads, NULL, start, NULL) != 0;
        pthread_join(threads[0], NULL);
    }
    for (int round = 0; round < 20; round++) {
        for (int number = 0; number < 10; number++)
            failed += pthread_create(&threads[number], NULL, start, NULL) != 0;
        for (int number = 0; number < 10; number++)
            pthread_join(threads[number], NULL);
    }
    say("%d %d\n", ran, failed);
    return 0;
}
