/* call: fork, exit_group; covers: handlers run in who exits, not in who ends by _exit */
#include "check.h"

static void handler(void)
{
    say("handler\n");
}

int main(void)
{
    atexit(handler);
    pid_t child = fork();
    if (child == 0)
        exit(1);
    wait_for(child);
    child = fork();
    if (child == 0)
        _exit(2);
    wait_for(child);
    return 0;
}
