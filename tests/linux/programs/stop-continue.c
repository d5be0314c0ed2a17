/* call: kill, wait4; covers: a stopped process does nothing until it is continued */
#include "check.h"

static int ends[2];

static void handler(int number)
{
    say("%s\n", signal_name(number));
}

static void child(void)
{
    char byte;
    handle(SIGCONT, handler, SA_RESTART);
    handle(SIGTERM, handler, SA_RESTART);
    reach_step(1);
    read(ends[0], &byte, 1);
    say("read\n");
}

int main(void)
{
    int status;
    begin_steps();
    pipe(ends);
    pid_t id = make_child(child);
    await_step(1);
    nap(20);
    kill(id, SIGSTOP);
    waitpid(id, &status, WUNTRACED);
    show_status(status);
    write(ends[1], "x", 1);
    kill(id, SIGTERM);
    nap(30);
    say("continue\n");
    kill(id, SIGCONT);
    wait_for(id);
    return 0;
}
