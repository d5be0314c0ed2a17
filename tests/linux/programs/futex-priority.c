/* call: futex; covers: locks that know their owner */
#include "check.h"

#include <linux/futex.h>

static int word;

static long futex(int operation)
{
    return syscall(SYS_futex, &word, operation, 0, NULL, NULL, 0);
}

static void *start(void *argument)
{
    SHOW(futex(FUTEX_TRYLOCK_PI));
    reach_step(1);
    long taken = futex(FUTEX_LOCK_PI);
    await_step(2);
    SHOW(taken);
    SHOW(futex(FUTEX_UNLOCK_PI));
    return NULL;
}

int main(void)
{
    pthread_t thread;
    begin_steps();
    SHOW(futex(FUTEX_LOCK_PI));
    HOLDS((word & FUTEX_TID_MASK) == syscall(SYS_gettid));
    SHOW(futex(FUTEX_LOCK_PI));
    pthread_create(&thread, NULL, start, NULL);
    await_step(1);
    nap(30);
    SHOW(futex(FUTEX_UNLOCK_PI));
    reach_step(2);
    pthread_join(thread, NULL);
    say("%d\n", word);
    SHOW(futex(FUTEX_UNLOCK_PI));
    return 0;
}
