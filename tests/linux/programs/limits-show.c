/* call: getrlimit, setrlimit, prlimit64; covers: setting, lowering, raising, errors; also: musl */
#include "check.h"

static void other(void)
{
    struct rlimit limit = {50, 100};
    SHOW(setrlimit(RLIMIT_NOFILE, &limit));
    setresuid(1000, 1000, 1000);
    limit.rlim_cur = 80;
    SHOW(setrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_max = 200;
    SHOW(setrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = 120, limit.rlim_max = 100;
    SHOW(setrlimit(RLIMIT_NOFILE, &limit));
    SHOW(getrlimit(RLIMIT_NOFILE, &limit));
    say("%ld %ld\n", (long)limit.rlim_cur, (long)limit.rlim_max);
}

int main(void)
{
    struct rlimit limit, old;
    for (int resource = 0; resource < 16; resource++)
        say("%d: %s\n", resource, getrlimit(resource, &limit) == 0 && limit.rlim_cur <= limit.rlim_max ? "there" : error_name(errno));
    SHOW(getrlimit(16, &limit));
    SHOW(getrlimit(0, (void *)8));
    limit = (struct rlimit){4096, 8192};
    SHOW(prlimit(0, RLIMIT_CORE, &limit, NULL));
    SHOW(prlimit(getpid(), RLIMIT_CORE, NULL, &old));
    say("%ld %ld\n", (long)old.rlim_cur, (long)old.rlim_max);
    SHOW(prlimit(999999, RLIMIT_CORE, NULL, &old));
    in_child(other);
    return 0;
}
