/* call: setpgid, getpgid, getpgrp; covers: one's own and a child's group; also: musl */
#include "check.h"

static void child(void)
{
    HOLDS(getpgrp() != getpid());
    SHOW(setpgid(0, 0));
    HOLDS(getpgrp() == getpid());
    HOLDS(getpgid(0) == getpid());
    SHOW(setpgid(0, getpgid(getppid())));
    HOLDS(getpgrp() == getpgid(getppid()));
}

int main(void)
{
    in_child(child);
    return 0;
}
