/* call: prlimit64; covers: another process's limits */
#include "check.h"

static int ends[2];

static void child(void)
{
    char byte;
    struct rlimit limit;
    close(ends[1]);
    read(ends[0], &byte, 1);
    getrlimit(RLIMIT_CORE, &limit);
    say("%ld\n", (long)limit.rlim_cur);
}

int main(void)
{
    struct rlimit limit = {1234, 5678}, old;
    pipe(ends);
    pid_t id = make_child(child);
    SHOW(prlimit(id, RLIMIT_CORE, &limit, NULL));
    SHOW(prlimit(id, RLIMIT_CORE, NULL, &old));
    say("%ld %ld\n", (long)old.rlim_cur, (long)old.rlim_max);
    close(ends[1]);
    wait_for(id);
    return 0;
}
