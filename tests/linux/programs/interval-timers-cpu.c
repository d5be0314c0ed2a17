/* call: setitimer; covers: SIGVTALRM and SIGPROF of time that is used */
#include "check.h"

static volatile int virtual, both;

static void on_virtual(int number)
{
    virtual++;
}

static void on_both(int number)
{
    both++;
}

int main(void)
{
    struct itimerval timer = {{0, 0}, {0, 20000}};
    handle(SIGVTALRM, on_virtual, 0);
    handle(SIGPROF, on_both, 0);
    SHOW(setitimer(ITIMER_VIRTUAL, &timer, NULL));
    SHOW(setitimer(ITIMER_PROF, &timer, NULL));
    for (long round = 0; round < 300000000 && (!virtual || !both); round++)
        continue;
    say("%d %d\n", virtual, both);
    return 0;
}
