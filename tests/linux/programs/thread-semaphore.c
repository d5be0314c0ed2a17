/* call: futex; covers: posts, waits, timeouts, errors; also: musl dynamic */
#include "check.h"

static sem_t ping, pong;

static void *start(void *argument)
{
    for (int round = 0; round < 200; round++) {
        sem_wait(&ping);
        sem_post(&pong);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;
    struct timespec past = {1, 0};
    sem_init(&ping, 0, 0), sem_init(&pong, 0, 0);
    SHOW(sem_trywait(&ping));
    SHOW(sem_timedwait(&ping, &past));
    pthread_create(&thread, NULL, start, NULL);
    for (int round = 0; round < 200; round++) {
        sem_post(&ping);
        sem_wait(&pong);
    }
    pthread_join(thread, NULL);
    int value;
    sem_getvalue(&pong, &value);
    say("%d\n", value);
    return 0;
}
