/* call: wait4, getrusage; covers: what a child used */
#include "check.h"

static void child(void)
{
    volatile long sum = 0;
    for (long index = 0; index < 3000000; index++)
        sum += index;
}

int main(void)
{
    struct rusage usage, all;
    int status;
    pid_t id = make_child(child);
    HOLDS(wait4(id, &status, 0, &usage) == id);
    SHOW(getrusage(RUSAGE_CHILDREN, &all));
    HOLDS(all.ru_utime.tv_sec == usage.ru_utime.tv_sec && all.ru_utime.tv_usec == usage.ru_utime.tv_usec);
    SHOW(getrusage(99, &all));
    return 0;
}
