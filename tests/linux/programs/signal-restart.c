/* call: read, wait4, rt_sigaction; covers: SA_RESTART goes on, without it EINTR */
#include "check.h"

static int ends[2];

static void handler(int number)
{
    say("%s\n", signal_name(number));
}

static void child(void)
{
    nap(30);
    kill(getppid(), SIGUSR1);
    nap(30);
    write(ends[1], "x", 1);
    nap(30);
    kill(getppid(), SIGUSR1);
    nap(30);
}

int main(void)
{
    char byte;
    int status;
    pipe(ends);
    handle(SIGUSR1, handler, SA_RESTART);
    pid_t id = make_child(child);
    SHOW(read(ends[0], &byte, 1));
    SHOW(waitpid(id, &status, 0) == id);
    handle(SIGUSR1, handler, 0);
    id = make_child(child);
    SHOW(read(ends[0], &byte, 1));
    SHOW(read(ends[0], &byte, 1));
    SHOW(waitpid(id, &status, 0));
    wait_for(id);
    return 0;
}
