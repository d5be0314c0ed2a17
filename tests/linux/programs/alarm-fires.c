/* call: alarm, pause; covers: seconds left, replacing, the default action */
#include "check.h"

static void handler(int number)
{
    say("%s\n", signal_name(number));
}

static void unhandled(void)
{
    alarm(1);
    for (;;)
        pause();
}

int main(void)
{
    handle(SIGALRM, handler, 0);
    SHOW(alarm(100));
    SHOW(alarm(1));
    SHOW(pause());
    SHOW(alarm(0));
    signal(SIGALRM, SIG_DFL);
    in_child(unhandled);
    return 0;
}
