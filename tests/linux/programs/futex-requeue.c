/* call: futex; covers: waiters that move to another word; FUTEX_WAKE_OP */
#include "check.h"

#include <linux/futex.h>

static int first, second;

static void *start(void *argument)
{
    syscall(SYS_futex, &first, FUTEX_WAIT, 0, NULL, NULL, 0);
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    for (int number = 0; number < 4; number++)
        pthread_create(&threads[number], NULL, start, NULL);
    nap(30);
    SHOW(syscall(SYS_futex, &first, FUTEX_CMP_REQUEUE, 1, 10, &second, 5));
    SHOW(syscall(SYS_futex, &first, FUTEX_CMP_REQUEUE, 1, 10, &second, 0));
    SHOW(syscall(SYS_futex, &first, FUTEX_WAKE, 10, NULL, NULL, 0));
    SHOW(syscall(SYS_futex, &first, FUTEX_WAKE_OP, 1, 1, &second, FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 0)));
    say("%d\n", second);
    SHOW(syscall(SYS_futex, &second, FUTEX_WAKE, 10, NULL, NULL, 0));
    for (int number = 0; number < 4; number++)
        pthread_join(threads[number], NULL);
    return 0;
}
