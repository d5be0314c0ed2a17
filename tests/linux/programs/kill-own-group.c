/* call: kill, setpgid; covers: to one's own group, oneself included */
#include "check.h"

static void handler(int number)
{
    say("%s\n", signal_name(number));
}

static void child(void)
{
    setpgid(0, 0);
    handle(SIGUSR1, handler, 0);
    SHOW(kill(0, SIGUSR1));
    SHOW(kill(-getpid(), SIGUSR1));
}

int main(void)
{
    in_child(child);
    return 0;
}
