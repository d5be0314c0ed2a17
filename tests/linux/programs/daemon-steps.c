/* call: fork, setsid, dup2; covers: how a daemon leaves its parent */
#include "check.h"

static int ends[2];

static void daemon_itself(void)
{
    await_step(1);
    HOLDS(getsid(0) != getpid());
    chdir("/");
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    write(ends[1], "done", 4);
}

static void child(void)
{
    setsid();
    make_child(daemon_itself);
}

int main(void)
{
    char text[10] = "";
    pipe(ends);
    begin_steps();
    in_child(child);
    reach_step(1);
    close(ends[1]);
    SHOW(read(ends[0], text, 10));
    SHOW(read(ends[0], text, 10));
    return 0;
}
