/* call: exit_group, exit, clone; covers: one thread ends all; the last one's end is the process's */
#include "check.h"

static void *other(void *argument)
{
    nap(10);
    exit(5);
}

static void *last(void *argument)
{
    nap(20);
    say("the last thread\n");
    return NULL;
}

static void group(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    for (;;)
        pause();
}

static void leader_first(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, last, NULL);
    pthread_exit(NULL);
}

int main(void)
{
    in_child(group);
    in_child(leader_first);
    return 0;
}
