/* Three threads that meet, and an access to memory that is not there. */
#include <pthread.h>
#include <stdio.h>

static pthread_barrier_t meeting;
static int sum;

__attribute__((noinline)) void work(int n) {
    __atomic_add_fetch(&sum, n, __ATOMIC_SEQ_CST);
}

static void *run(void *argument) {
    work((int)(long)argument);
    pthread_barrier_wait(&meeting);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    pthread_barrier_init(&meeting, 0, 3);
    for (long i = 0; i < 2; i++) {
        pthread_create(&threads[i], 0, run, (void *)(i + 1));
    }
    pthread_barrier_wait(&meeting);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], 0);
    }
    printf("sum %d\n", sum);
    fflush(stdout);
    *(volatile int *)16 = 1;
    return 0;
}
