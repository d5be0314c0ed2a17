/* call: kill, wait4; covers: a child that has ended and was not waited for */
#include "check.h"

static void child(void)
{
}

int main(void)
{
    pid_t id = make_child(child);
    nap(20);
    SHOW(kill(id, 0));
    SHOW(kill(id, SIGTERM));
    wait_for(id);
    SHOW(kill(id, 0));
    return 0;
}
