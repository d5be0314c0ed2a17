/* call: setsid, getsid; covers: a new session and its group */
#include "check.h"

static void child(void)
{
    HOLDS(getsid(0) == getsid(getppid()));
    HOLDS(setsid() == getpid());
    HOLDS(getsid(0) == getpid() && getpgrp() == getpid());
    SHOW(open("/dev/tty", O_RDWR));
}

int main(void)
{
    in_child(child);
    return 0;
}
