/* call: fork, getppid; covers: a process whose parent has gone */
#include "check.h"

static int ends[2];
static pid_t parent;

static void grandchild(void)
{
    while (getppid() == parent)
        nap(5);
    await_step(1);
    say("has another parent\n");
    write(ends[1], "x", 1);
}

static void child(void)
{
    parent = getpid();
    make_child(grandchild);
}

int main(void)
{
    char byte;
    pipe(ends);
    begin_steps();
    in_child(child);
    reach_step(1);
    close(ends[1]);
    SHOW(read(ends[0], &byte, 1));
    return 0;
}
