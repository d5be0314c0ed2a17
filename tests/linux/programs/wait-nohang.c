/* call: wait4; covers: children that still run; also: musl dynamic */
#include "check.h"

static int ends[2];

static void child(void)
{
    char byte;
    close(ends[1]);
    read(ends[0], &byte, 1);
}

int main(void)
{
    int status = 77;
    pipe(ends);
    pid_t id = make_child(child);
    SHOW(waitpid(id, &status, WNOHANG));
    SHOW(waitpid(-1, &status, WNOHANG));
    say("%d\n", status);
    close(ends[1]);
    wait_for(id);
    SHOW(waitpid(id, &status, WNOHANG));
    return 0;
}
