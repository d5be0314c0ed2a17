/* call: fork, getppid; covers: a process whose parent has gone */
#include "check.h"

static int ends[2];
static pid_t parent;

static void grandchild(void)
{
    while (getppid() == parent)
        nap(5);
    nap(20);
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
    in_child(child);
    close(ends[1]);
    SHOW(read(ends[0], &byte, 1));
    return 0;
}
