/* call: setitimer, read, rt_sigaction; covers: the same within one process, by a timer; also: musl dynamic */
#include "check.h"

static int ends[2], count;

static void handler(int number)
{
    say("%s\n", signal_name(number));
    if (++count == 2)
        write(ends[1], "x", 1);
}

int main(void)
{
    char byte;
    struct itimerval timer = {{0, 20000}, {0, 20000}}, off = {{0, 0}, {0, 0}};
    pipe(ends);
    handle(SIGALRM, handler, SA_RESTART);
    SHOW(setitimer(ITIMER_REAL, &timer, NULL));
    SHOW(read(ends[0], &byte, 1));
    setitimer(ITIMER_REAL, &off, NULL);
    handle(SIGALRM, handler, 0);
    timer.it_interval.tv_usec = 0;
    setitimer(ITIMER_REAL, &timer, NULL);
    SHOW(read(ends[0], &byte, 1));
    return 0;
}
