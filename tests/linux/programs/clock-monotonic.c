/* call: clock_gettime, gettimeofday, time; covers: clocks go forward and agree; also: musl */
#include "check.h"

int main(void)
{
    struct timespec one, two, real;
    struct timeval day;
    int back = 0;
    clock_gettime(CLOCK_MONOTONIC, &one);
    for (int round = 0; round < 10000; round++) {
        clock_gettime(CLOCK_MONOTONIC, &two);
        back += two.tv_sec < one.tv_sec || (two.tv_sec == one.tv_sec && two.tv_nsec < one.tv_nsec);
        one = two;
    }
    say("%d times back\n", back);
    gettimeofday(&day, NULL);
    clock_gettime(CLOCK_REALTIME, &real);
    HOLDS(real.tv_sec - day.tv_sec <= 1 && real.tv_sec >= day.tv_sec);
    HOLDS(time(NULL) - real.tv_sec <= 1);
    HOLDS(real.tv_sec > 1500000000);
    clock_gettime(CLOCK_MONOTONIC, &one);
    nap(30);
    clock_gettime(CLOCK_MONOTONIC, &two);
    long passed = (two.tv_sec - one.tv_sec) * 1000 + (two.tv_nsec - one.tv_nsec) / 1000000;
    HOLDS(passed >= 29);
    SHOW(syscall(SYS_gettimeofday, (void *)8, NULL));
    SHOW(syscall(SYS_time, (void *)8));
    return 0;
}
