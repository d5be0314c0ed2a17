/* call: ppoll; covers: a signal that only the mask of the call lets in */
#include "check.h"

static void handler(int number)
{
    say("%s\n", signal_name(number));
}

int main(void)
{
    sigset_t blocked, none;
    struct timespec wait = {1, 0};
    sigemptyset(&none), sigemptyset(&blocked), sigaddset(&blocked, SIGUSR1);
    handle(SIGUSR1, handler, 0);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    raise(SIGUSR1);
    say("blocked\n");
    SHOW(ppoll(NULL, 0, &wait, &none));
    sigpending(&none);
    SHOW(sigismember(&none, SIGUSR1));
    return 0;
}
