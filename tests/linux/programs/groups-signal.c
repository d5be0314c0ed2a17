/* call: kill, setpgid; covers: a signal to all of a group */
#include "check.h"

static void child(void)
{
    for (;;)
        pause();
}

int main(void)
{
    pid_t first = make_child(child), second = make_child(child), third = make_child(child);
    SHOW(setpgid(first, first));
    SHOW(setpgid(second, first));
    SHOW(kill(-first, SIGUSR1));
    wait_for(first);
    wait_for(second);
    SHOW(waitpid(third, NULL, WNOHANG));
    SHOW(kill(-first, 0));
    kill(third, SIGKILL);
    wait_for(third);
    return 0;
}
