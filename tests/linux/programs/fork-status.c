/* call: fork, wait4, exit_group; covers: numbers and statuses of children; also: musl dynamic */
#include "check.h"

static void three(void)
{
    _exit(3);
}

static void large(void)
{
    _exit(0x1234);
}

static void parent(void)
{
    HOLDS(getppid() != getpid());
}

int main(void)
{
    in_child(three);
    in_child(large);
    in_child(parent);
    int status;
    pid_t child = fork();
    if (child == 0)
        exit(7);
    HOLDS(wait(&status) == child);
    show_status(status);
    SHOW(wait(&status));
    return 0;
}
