/* call: setrlimit, fork; covers: RLIMIT_NPROC of another user gives EAGAIN */
#include "check.h"

static void child(void)
{
    struct rlimit limit = {1, 1};
    SHOW(setresuid(1234, 1234, 1234));
    SHOW(setrlimit(RLIMIT_NPROC, &limit));
    pid_t id = fork();
    if (id == 0)
        _exit(0);
    SHOW(id);
}

int main(void)
{
    in_child(child);
    return 0;
}
