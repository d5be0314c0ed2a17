/* call: poll, fork; covers: a wait that another process ends */
#include "check.h"

static int ends[2];

static void child(void)
{
    nap(20);
    write(ends[1], "x", 1);
    await_step(1);
    nap(20);
}

int main(void)
{
    begin_steps();
    pipe(ends);
    pid_t id = make_child(child);
    close(ends[1]);
    struct pollfd fd = {ends[0], POLLIN, 0};
    SHOW(poll(&fd, 1, -1));
    say("%#x\n", fd.revents);
    read(ends[0], &id, 1);
    reach_step(1);
    SHOW(poll(&fd, 1, -1));
    say("%#x\n", fd.revents);
    wait(NULL);
    return 0;
}
