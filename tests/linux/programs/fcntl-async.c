/* call: fcntl; covers: O_ASYNC sends a signal when bytes arrive */
#include "check.h"

static volatile int came;

static void handler(int number)
{
    came = number;
}

int main(void)
{
    int ends[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    handle(SIGIO, handler, 0);
    SHOW(fcntl(ends[0], F_SETOWN, getpid()));
    SHOW(fcntl(ends[0], F_SETFL, O_ASYNC));
    SHOW(write(ends[1], "x", 1));
    nap(10);
    say("%s\n", signal_name(came));
    return 0;
}
