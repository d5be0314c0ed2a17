/* call: prctl, fork; covers: PR_SET_PDEATHSIG */
#include "check.h"

static int ends[2];
static volatile int came;

static void handler(int number)
{
    came = number;
}

static void grandchild(void)
{
    handle(SIGUSR1, handler, 0);
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
    write(ends[1], "x", 1);
    for (int tries = 0; tries < 1000 && !came; tries++)
        nap(1);
    await_step(1);
    say("%s\n", signal_name(came));
    write(ends[1], "y", 1);
}

static void child(void)
{
    char byte;
    make_child(grandchild);
    read(ends[0], &byte, 1);
}

int main(void)
{
    char byte;
    pipe(ends);
    begin_steps();
    in_child(child);
    reach_step(1);
    SHOW(read(ends[0], &byte, 1));
    return 0;
}
