/* call: setitimer, getitimer; covers: repeating, stopping, errors */
#include "check.h"

static volatile int count;

static void handler(int number)
{
    count++;
}

int main(void)
{
    struct itimerval timer = {{0, 10000}, {0, 10000}}, old, off = {{0, 0}, {0, 0}}, wrong = {{0, 0}, {0, 1000000}};
    handle(SIGALRM, handler, 0);
    SHOW(setitimer(ITIMER_REAL, &timer, NULL));
    while (count < 3)
        pause();
    SHOW(getitimer(ITIMER_REAL, &old));
    say("interval %ld %ld\n", (long)old.it_interval.tv_sec, (long)old.it_interval.tv_usec);
    HOLDS(old.it_value.tv_usec <= 10000);
    SHOW(setitimer(ITIMER_REAL, &off, NULL));
    int before = count;
    nap(30);
    HOLDS(count == before);
    SHOW(setitimer(ITIMER_REAL, &wrong, NULL));
    SHOW(setitimer(9, &timer, NULL));
    SHOW(getitimer(9, &old));
    SHOW(getitimer(ITIMER_REAL, (void *)8));
    return 0;
}
