/* call: clock_settime, settimeofday, adjtimex, clock_adjtime; covers: who may not, and what may not be set */
#include "check.h"

#include <sys/timex.h>

static void other(void)
{
    struct timespec time = {1600000000, 0};
    struct timeval day = {1600000000, 0};
    SHOW(clock_settime(CLOCK_MONOTONIC, &time));
    setresuid(1000, 1000, 1000);
    SHOW(clock_settime(CLOCK_REALTIME, &time));
    SHOW(settimeofday(&day, NULL));
    time.tv_nsec = -1;
    SHOW(clock_settime(CLOCK_REALTIME, &time));
}

int main(void)
{
    in_child(other);
    return 0;
}
