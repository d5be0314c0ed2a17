/* call: clone, wait4; covers: children that end with another signal, or none */
#include "check.h"

static volatile int came;

static void handler(int number)
{
    came = number;
}

static int ends(void *argument)
{
    return 3;
}

static char stack[65536] __attribute__((aligned(16)));

int main(void)
{
    int status;
    handle(SIGUSR1, handler, 0);
    pid_t child = clone(ends, stack + sizeof stack, SIGUSR1, NULL);
    nap(30);
    SHOW(waitpid(child, &status, WNOHANG));
    SHOW(waitpid(child, &status, __WCLONE) == child);
    say("%s\n", signal_name(came));
    show_status(status);
    return 0;
}
