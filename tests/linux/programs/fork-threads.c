/* call: fork, clone; covers: only the thread that forks is in the child */
#include "check.h"

static void *idle(void *argument)
{
    for (;;)
        pause();
}

static void child(void)
{
    pthread_t thread;
    SHOW(pthread_create(&thread, NULL, idle, NULL));
}

int main(void)
{
    pthread_t threads[3];
    for (int index = 0; index < 3; index++)
        pthread_create(&threads[index], NULL, idle, NULL);
    in_child(child);
    return 0;
}
