/* call: setrlimit, dup2, poll; covers: limits of descriptors in the hundred thousands, and no further than there are any */
#include "check.h"

static void limit(rlim_t soft, rlim_t hard)
{
    struct rlimit limit = {soft, hard};
    SHOW(setrlimit(RLIMIT_NOFILE, &limit));
    getrlimit(RLIMIT_NOFILE, &limit);
    say("%ld %ld\n", (long)limit.rlim_cur, (long)limit.rlim_max);
}

static void inherited(void)
{
    SHOW(fcntl(99999, F_GETFD));
    SHOW(close(99999));
}

int main(void)
{
    limit(100000, 1048576);
    limit(100000, 1048577);
    SHOW(dup2(0, 100000));
    SHOW(dup2(0, 99999));
    struct pollfd one = {99999, POLLOUT, 0};
    SHOW(poll(&one, 1, 0) >= 0);
    in_child(inherited);
    SHOW(fcntl(99999, F_GETFD));
    SHOW(dup(0));
    SHOW(close(99999));
    return 0;
}
