/* call: setrlimit, wait4; covers: RLIMIT_CPU: SIGXCPU, then SIGKILL */
#include "check.h"

static void child(void)
{
    struct rlimit limit = {1, 5};
    setrlimit(RLIMIT_CPU, &limit);
    for (;;)
        continue;
}

int main(void)
{
    in_child(child);
    return 0;
}
