/* call: futex; covers: values that differ, timeouts, errors */
#include "check.h"

#include <linux/futex.h>

static int word;

static long futex(int operation, int value, const struct timespec *time)
{
    return syscall(SYS_futex, &word, operation, value, time, NULL, 0);
}

int main(void)
{
    struct timespec soon = {0, 20000000}, wrong = {0, 1000000000}, past = {1, 0};
    SHOW(futex(FUTEX_WAIT, 1, NULL));
    long start = now();
    SHOW(futex(FUTEX_WAIT, 0, &soon));
    HOLDS(now() - start >= 19);
    SHOW(futex(FUTEX_WAIT_PRIVATE, 0, &soon));
    SHOW(futex(FUTEX_WAIT, 0, &wrong));
    SHOW(futex(FUTEX_WAKE, 1, NULL));
    SHOW(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, &past, NULL, -1));
    SHOW(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, NULL, NULL, 0));
    SHOW(syscall(SYS_futex, (char *)&word + 1, FUTEX_WAIT, 0, NULL, NULL, 0));
    SHOW(syscall(SYS_futex, 8, FUTEX_WAIT, 0, NULL, NULL, 0));
    SHOW(syscall(SYS_futex, &word, 99, 0, NULL, NULL, 0));
    return 0;
}
