/* call: wait4, kill; covers: children that signals end */
#include "check.h"

static void child(void)
{
    for (;;)
        pause();
}

int main(void)
{
    int numbers[] = {SIGTERM, SIGKILL, SIGHUP, SIGINT, SIGUSR1, SIGALRM, SIGPIPE, SIGRTMIN + 2, SIGIO, SIGPWR, SIGSTKFLT};
    for (unsigned index = 0; index < sizeof numbers / sizeof *numbers; index++) {
        pid_t id = make_child(child);
        kill(id, numbers[index]);
        wait_for(id);
    }
    return 0;
}
