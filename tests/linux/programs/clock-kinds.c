/* call: clock_gettime, clock_getres; covers: clocks that there are, and errors; also: musl dynamic */
#include "check.h"

int main(void)
{
    struct timespec time;
    for (int clock = 0; clock < 13; clock++)
        say("%d: %s\n", clock, clock_gettime(clock, &time) == 0 ? "there" : error_name(errno));
    for (int clock = 0; clock < 8; clock++) {
        errno = 0;
        say("%d: %d %s\n", clock, clock_getres(clock, &time) == 0 && time.tv_sec == 0 && time.tv_nsec > 0, error_name(errno));
    }
    SHOW(syscall(SYS_clock_gettime, 99, &time));
    SHOW(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, (void *)8));
    SHOW(clock_getres(CLOCK_MONOTONIC, NULL));
    return 0;
}
