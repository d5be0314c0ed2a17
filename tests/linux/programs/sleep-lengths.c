/* call: nanosleep, clock_nanosleep; covers: how long, what is left, errors; also: musl dynamic */
#include "check.h"

int main(void)
{
    struct timespec some = {0, 20000000}, wrong = {0, 1000000000}, negative = {-1, 0}, none = {0, 0}, until;
    long start = now();
    SHOW(nanosleep(&some, NULL));
    HOLDS(now() - start >= 19);
    SHOW(nanosleep(&none, NULL));
    SHOW(nanosleep(&wrong, NULL));
    SHOW(nanosleep(&negative, NULL));
    SHOW(nanosleep((void *)8, NULL));
    start = now();
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec++;
    SHOW(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL));
    HOLDS(now() - start >= 999);
    until.tv_sec = 0;
    SHOW(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL));
    say("%s\n", error_name(clock_nanosleep(99, 0, &some, NULL)));
    say("%s\n", error_name(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &some, NULL)));
    say("%s\n", error_name(clock_nanosleep(CLOCK_MONOTONIC, 0, &wrong, NULL)));
    return 0;
}
