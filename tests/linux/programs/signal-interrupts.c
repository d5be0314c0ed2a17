/* call: poll, select, nanosleep, epoll_wait, pause; covers: calls that end with EINTR even with SA_RESTART */
#include "check.h"

static void handler(int number)
{
}

static pid_t sender;

static void send_soon(void)
{
    nap(20);
    kill(getppid(), SIGUSR1);
}

int main(void)
{
    struct timespec second = {1, 0}, left = {0, 0};
    struct timeval time = {1, 0};
    struct epoll_event event;
    handle(SIGUSR1, handler, SA_RESTART);
    sender = make_child(send_soon);
    SHOW(poll(NULL, 0, 1000));
    waitpid(sender, NULL, 0), sender = make_child(send_soon);
    SHOW(select(0, NULL, NULL, NULL, &time));
    waitpid(sender, NULL, 0), sender = make_child(send_soon);
    SHOW(nanosleep(&second, &left));
    HOLDS(left.tv_nsec > 0);
    waitpid(sender, NULL, 0), sender = make_child(send_soon);
    SHOW(epoll_wait(epoll_create1(0), &event, 1, 1000));
    waitpid(sender, NULL, 0), sender = make_child(send_soon);
    SHOW(pause());
    waitpid(sender, NULL, 0);
    return 0;
}
