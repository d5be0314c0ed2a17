/* call: tgkill, rt_sigaction, futex; covers: deferred, in a read, cleanup handlers; also: musl */
#include "check.h"

static int ends[2];

static void cleanup(void *argument)
{
    say("cleanup %s\n", (char *)argument);
}

static void *reads(void *argument)
{
    char byte;
    pthread_cleanup_push(cleanup, "outer");
    pthread_cleanup_push(cleanup, "inner");
    read(ends[0], &byte, 1);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *refuses(void *argument)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    reach_step(1);
    await_step(2);
    say("still here\n");
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    pthread_testcancel();
    say("not reached\n");
    return NULL;
}

int main(void)
{
    pthread_t thread;
    void *result;
    begin_steps();
    pipe(ends);
    pthread_create(&thread, NULL, reads, NULL);
    nap(20);
    int cancelled = pthread_cancel(thread);
    SHOW(pthread_join(thread, &result));
    SHOW(cancelled);
    HOLDS(result == PTHREAD_CANCELED);
    pthread_create(&thread, NULL, refuses, NULL);
    await_step(1);
    SHOW(pthread_cancel(thread));
    reach_step(2);
    SHOW(pthread_join(thread, &result));
    HOLDS(result == PTHREAD_CANCELED);
    return 0;
}
