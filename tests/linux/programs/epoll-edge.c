/* call: epoll_ctl, epoll_wait; covers: edge-triggered and one-shot events */
#include "check.h"

int main(void)
{
    int ends[2];
    struct epoll_event event = {EPOLLIN | EPOLLET, {.fd = 1}}, found[4];
    pipe(ends);
    int set = epoll_create1(0);
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
    write(ends[1], "x", 1);
    SHOW(epoll_wait(set, found, 4, 0));
    SHOW(epoll_wait(set, found, 4, 0));
    write(ends[1], "x", 1);
    SHOW(epoll_wait(set, found, 4, 0));
    event.events = EPOLLIN | EPOLLONESHOT;
    SHOW(epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event));
    SHOW(epoll_wait(set, found, 4, 0));
    SHOW(epoll_wait(set, found, 4, 0));
    write(ends[1], "x", 1);
    SHOW(epoll_wait(set, found, 4, 0));
    SHOW(epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event));
    SHOW(epoll_wait(set, found, 4, 0));
    return 0;
}
