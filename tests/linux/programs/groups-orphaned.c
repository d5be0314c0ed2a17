/* call: setpgid, kill; covers: a stopped group that becomes an orphan gets SIGHUP and SIGCONT */
#include "check.h"

static int ends[2];

static volatile int hung_up, continued;

static void hang_up(int number)
{
    if (number == SIGHUP)
        hung_up = 1;
    else
        continued = 1;
    write(ends[1], "x", 1);
}

static void grandchild(void)
{
    handle(SIGHUP, hang_up, 0);
    handle(SIGCONT, hang_up, 0);
    raise(SIGSTOP);
    await_step(1);
    say("%d %d\n", hung_up, continued);
}

static void child(void)
{
    int status;
    setpgid(0, 0);
    pid_t id = make_child(grandchild);
    waitpid(id, &status, WUNTRACED);
    show_status(status);
}

int main(void)
{
    char bytes[4];
    pipe(ends);
    setsid();
    begin_steps();
    in_child(child);
    reach_step(1);
    close(ends[1]);
    int total = 0, got;
    while ((got = read(ends[0], bytes, 4)) > 0)
        total += got;
    say("%d signals\n", total);
    return 0;
}
