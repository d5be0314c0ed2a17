/* call: rt_sigaction; covers: a signal in its own handler waits until the end */
#include "check.h"

static int round;

static void handler(int number)
{
    say("begin %d\n", ++round);
    if (round == 1) {
        raise(number);
        raise(number);
    }
    say("end\n");
}

int main(void)
{
    handle(SIGUSR1, handler, 0);
    raise(SIGUSR1);
    say("%d\n", round);
    return 0;
}
