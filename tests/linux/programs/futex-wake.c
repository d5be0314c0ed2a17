/* call: futex; covers: how many are woken, bit sets */
#include "check.h"

#include <linux/futex.h>

static int word, awake;

static void *start(void *argument)
{
    syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, NULL, NULL, (long)argument);
    __atomic_add_fetch(&awake, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

int main(void)
{
    pthread_t threads[5];
    for (long number = 0; number < 5; number++)
        pthread_create(&threads[number], NULL, start, (void *)(1l << number % 2));
    nap(30);
    SHOW(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, 10, NULL, NULL, 2));
    SHOW(syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0));
    SHOW(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, 10, NULL, NULL, 4));
    SHOW(syscall(SYS_futex, &word, FUTEX_WAKE, 10, NULL, NULL, 0));
    for (int number = 0; number < 5; number++)
        pthread_join(threads[number], NULL);
    say("%d\n", awake);
    return 0;
}
