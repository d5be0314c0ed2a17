/* call: sched_getaffinity, sched_setaffinity; covers: masks of processors */
#include "check.h"

int main(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    SHOW(sched_getaffinity(0, sizeof set, &set));
    HOLDS(CPU_COUNT(&set) >= 1 && CPU_ISSET(0, &set));
    SHOW(sched_getaffinity(999999, sizeof set, &set));
    SHOW(syscall(SYS_sched_getaffinity, 0, 1, &set));
    CPU_ZERO(&set);
    SHOW(sched_setaffinity(0, sizeof set, &set));
    CPU_SET(0, &set);
    SHOW(sched_setaffinity(0, sizeof set, &set));
    HOLDS(sched_getcpu() == 0);
    return 0;
}
