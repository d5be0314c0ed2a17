/* call: pselect6; covers: a signal that only the mask of the call lets in */
#include "check.h"

static void handler(int number)
{
    say("%s\n", signal_name(number));
}

int main(void)
{
    sigset_t blocked, none;
    struct timespec wait = {1, 0};
    sigemptyset(&none), sigemptyset(&blocked), sigaddset(&blocked, SIGUSR2);
    handle(SIGUSR2, handler, SA_RESTART);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    raise(SIGUSR2);
    SHOW(pselect(0, NULL, NULL, NULL, &wait, &none));
    SHOW(pselect(0, NULL, NULL, NULL, &(struct timespec){0, 1000}, &none));
    return 0;
}
