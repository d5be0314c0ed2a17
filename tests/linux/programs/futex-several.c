/* call: futex_waitv; covers: one of several words */
#include "check.h"

int main(void)
{
    static uint32_t words[2];
    struct {
        uint64_t value, address;
        uint32_t flags, reserved;
    } waits[2] = {{0, (uint64_t)&words[0], 2, 0}, {1, (uint64_t)&words[1], 2, 0}};
    struct timespec past = {1, 0};
    SHOW(syscall(SYS_futex_waitv, waits, 2, 0, NULL, CLOCK_MONOTONIC));
    waits[1].value = 0;
    SHOW(syscall(SYS_futex_waitv, waits, 2, 0, &past, CLOCK_MONOTONIC));
    SHOW(syscall(SYS_futex_waitv, waits, 0, 0, NULL, CLOCK_MONOTONIC));
    SHOW(syscall(SYS_futex_waitv, waits, 2, 1, NULL, CLOCK_MONOTONIC));
    return 0;
}
