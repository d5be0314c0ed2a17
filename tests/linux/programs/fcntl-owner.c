/* call: fcntl; covers: who hears of a descriptor's signals */
#include "check.h"

int main(void)
{
    int ends[2];
    pipe(ends);
    SHOW(fcntl(ends[0], F_GETOWN));
    SHOW(fcntl(ends[0], F_SETOWN, getpid()));
    HOLDS(fcntl(ends[0], F_GETOWN) == getpid());
    SHOW(fcntl(ends[0], F_GETSIG));
    SHOW(fcntl(ends[0], F_SETSIG, SIGRTMIN));
    HOLDS(fcntl(ends[0], F_GETSIG) == SIGRTMIN);
    SHOW(fcntl(ends[0], F_SETSIG, 1000));
    return 0;
}
