/* call: wait4; covers: a fault of one thread ends all */
#include "check.h"

static void *start(void *argument)
{
    *(volatile int *)8 = 1;
    return NULL;
}

static void child(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, start, NULL);
    for (;;)
        pause();
}

int main(void)
{
    in_child(child);
    return 0;
}
