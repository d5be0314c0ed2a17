/* call: getpriority, setpriority; covers: nice values of processes, groups and users; also: musl */
#include "check.h"

static void child(void)
{
    errno = 0;
    SHOW(getpriority(PRIO_PROCESS, 0));
    SHOW(nice(3));
    SHOW(nice(100));
    setresuid(1000, 1000, 1000);
    SHOW(setpriority(PRIO_PROCESS, 0, 5));
}

int main(void)
{
    SHOW(getpriority(PRIO_PROCESS, 0));
    SHOW(setpriority(PRIO_PROCESS, 0, 7));
    SHOW(getpriority(PRIO_PROCESS, 0));
    SHOW(getpriority(9, 0));
    SHOW(getpriority(PRIO_PROCESS, 999999));
    in_child(child);
    return 0;
}
