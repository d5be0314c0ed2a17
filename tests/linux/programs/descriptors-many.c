/* call: setrlimit, prlimit64, dup2, openat, fork, poll, execve; covers: thousands of descriptors, hard limits raised, nothing made when there is no descriptor */
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
    char byte = 0;
    struct pollfd one = {3000, POLLIN, 0};
    SHOW(poll(&one, 1, 0));
    SHOW(read(3000, &byte, 1));
    say("%c\n", byte);
    SHOW(fcntl(2900, F_GETFD));
}

static void full(void)
{
    limit(30, 4096);
    while (dup(0) >= 0)
        ;
    SHOW(open("new", O_CREAT | O_WRONLY, 0600));
    SHOW(access("new", F_OK));
    SHOW(open("none", O_RDONLY));
    SHOW(close(17));
    SHOW(close(9));
    SHOW(open("new", O_CREAT | O_WRONLY, 0600));
    SHOW(dup(0));
    SHOW(dup(0));
}

static void raised(void)
{
    limit(100, 200);
    limit(100, 300);
    limit(400, 300);
    SHOW(setresuid(1000, 1000, 1000));
    limit(100, 400);
    limit(300, 300);
}

int main(int count, char **words)
{
    (void)words;
    if (count > 1) {
        SHOW(fcntl(3000, F_GETFD));
        SHOW(fcntl(2001, F_GETFD));
        return 0;
    }
    int ends[2];
    limit(4096, 4096);
    pipe(ends);
    SHOW(write(ends[1], "x", 1));
    int last = 0;
    for (int made = 0; made < 2000; made++)
        last = dup(ends[1]);
    say("last %d\n", last);
    SHOW(dup2(ends[0], 3000));
    SHOW(fcntl(2001, F_SETFD, FD_CLOEXEC));
    in_child(inherited);
    in_child(full);
    in_child(raised);
    SHOW(dup2(0, 4096));
    again("again");
    return 1;
}
