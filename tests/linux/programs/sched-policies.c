/* call: sched_getscheduler, sched_setscheduler, sched_getparam, sched_get_priority_max, sched_get_priority_min, sched_rr_get_interval, sched_yield; covers: policies and their priorities */
#include "check.h"

int main(void)
{
    struct sched_param parameter = {0};
    struct timespec slice;
    SHOW(sched_getscheduler(0));
    SHOW(sched_getparam(0, &parameter));
    say("%d\n", parameter.sched_priority);
    SHOW(sched_get_priority_max(SCHED_FIFO));
    SHOW(sched_get_priority_min(SCHED_FIFO));
    SHOW(sched_get_priority_max(SCHED_OTHER));
    SHOW(sched_get_priority_max(99));
    SHOW(sched_rr_get_interval(0, &slice));
    SHOW(sched_setscheduler(0, SCHED_BATCH, &parameter));
    SHOW(sched_getscheduler(0));
    parameter.sched_priority = 5;
    SHOW(sched_setscheduler(0, SCHED_OTHER, &parameter));
    SHOW(sched_getscheduler(999999));
    SHOW(sched_yield());
    return 0;
}
