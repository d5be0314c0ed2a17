/* call: setpgid, getpgid, getsid; covers: strangers, missing groups, after exec, session leaders */
#include "check.h"

static void leader(void)
{
    SHOW(setsid() == getpid());
    SHOW(setpgid(0, 0));
    SHOW(setsid());
}

static void child(void)
{
    SHOW(setpgid(0, 999999));
    SHOW(setpgid(0, -1));
    SHOW(setpgid(999999, 0));
    SHOW(getpgid(999999));
    SHOW(getsid(999999));
    SHOW(getpgid(-1));
    SHOW(setpgid(getppid(), 0));
}

int main(void)
{
    in_child(child);
    in_child(leader);
    return 0;
}
