/* call: clock_gettime, times, getrusage; covers: time that is used, not time that passes */
#include "check.h"

static double used(int clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

int main(void)
{
    struct rusage usage;
    struct tms ticks;
    double before = used(CLOCK_PROCESS_CPUTIME_ID);
    nap(100);
    HOLDS(used(CLOCK_PROCESS_CPUTIME_ID) - before < 0.08);
    before = used(CLOCK_THREAD_CPUTIME_ID);
    for (volatile int round = 0; round < 20000000; round++)
        continue;
    HOLDS(used(CLOCK_THREAD_CPUTIME_ID) > before);
    SHOW(getrusage(RUSAGE_SELF, &usage));
    HOLDS(usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec > 0);
    HOLDS(times(&ticks) != -1);
    HOLDS(clock() > 0);
    SHOW(getrusage(RUSAGE_THREAD, &usage));
    SHOW(getrusage(5, &usage));
    return 0;
}
