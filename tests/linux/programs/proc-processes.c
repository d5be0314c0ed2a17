/* call: getdents64, fork; covers: a child is in /proc until it was waited for */
#include "check.h"

static int ends[2];

static void child(void)
{
    char byte;
    close(ends[1]);
    read(ends[0], &byte, 1);
}

static int is_there(pid_t id)
{
    char path[30];
    snprintf(path, sizeof path, "/proc/%d", id);
    return access(path, F_OK) == 0;
}

int main(void)
{
    pipe(ends);
    pid_t id = make_child(child);
    SHOW(is_there(id));
    SHOW(is_there(getpid()));
    close(ends[1]);
    wait_for(id);
    SHOW(is_there(id));
    return 0;
}
