/* call: epoll_ctl; covers: EPOLLEXCLUSIVE, which is asked for when a file is added, and is no set's */
#include "check.h"

static int control(int set, int operation, int file, unsigned events)
{
    struct epoll_event event = {.events = events};
    return epoll_ctl(set, operation, file, &event);
}

int main(void)
{
    int set = epoll_create1(0), inner = epoll_create1(0), ends[2];
    struct epoll_event event;
    pipe(ends);
    SHOW(control(set, EPOLL_CTL_ADD, ends[0], EPOLLIN));
    SHOW(control(set, EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLEXCLUSIVE));
    SHOW(control(set, EPOLL_CTL_DEL, ends[0], 0));
    SHOW(control(set, EPOLL_CTL_ADD, ends[0], EPOLLIN | EPOLLEXCLUSIVE));
    SHOW(control(set, EPOLL_CTL_MOD, ends[0], EPOLLIN));
    write(ends[1], "x", 1);
    SHOW(epoll_wait(set, &event, 1, 1000));
    HOLDS(event.events == EPOLLIN);
    SHOW(control(set, EPOLL_CTL_DEL, ends[0], 0));
    SHOW(control(set, EPOLL_CTL_ADD, ends[0], EPOLLEXCLUSIVE | EPOLLONESHOT));
    SHOW(control(set, EPOLL_CTL_ADD, ends[0], EPOLLEXCLUSIVE | EPOLLRDHUP));
    SHOW(control(set, EPOLL_CTL_ADD, ends[0], EPOLLEXCLUSIVE | EPOLLET | EPOLLWAKEUP));
    SHOW(control(set, EPOLL_CTL_ADD, inner, EPOLLEXCLUSIVE));
    SHOW(control(set, EPOLL_CTL_ADD, inner, EPOLLIN));
    SHOW(control(set, EPOLL_CTL_ADD, inner, EPOLLIN));
    return 0;
}
