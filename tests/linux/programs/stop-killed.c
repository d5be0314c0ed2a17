/* call: kill, wait4; covers: SIGKILL ends a stopped process */
#include "check.h"

static void child(void)
{
    for (;;)
        pause();
}

int main(void)
{
    int status;
    pid_t id = make_child(child);
    kill(id, SIGSTOP);
    waitpid(id, &status, WUNTRACED);
    kill(id, SIGTERM);
    nap(10);
    SHOW(waitpid(id, &status, WNOHANG));
    kill(id, SIGKILL);
    wait_for(id);
    return 0;
}
