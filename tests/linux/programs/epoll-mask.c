/* call: epoll_pwait; covers: a signal that only the mask of the call lets in */
#include "check.h"

static void handler(int number)
{
    say("%s\n", signal_name(number));
}

int main(void)
{
    sigset_t blocked, none;
    struct epoll_event event;
    int set = epoll_create1(0);
    sigemptyset(&none), sigemptyset(&blocked), sigaddset(&blocked, SIGUSR1);
    handle(SIGUSR1, handler, 0);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    raise(SIGUSR1);
    SHOW(epoll_pwait(set, &event, 1, 1000, &none));
    SHOW(epoll_pwait(set, &event, 1, 5, &none));
    return 0;
}
