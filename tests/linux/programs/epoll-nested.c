/* call: epoll_ctl, poll; covers: a set in a set, and a set that is polled */
#include "check.h"

int main(void)
{
    int ends[2], inner = epoll_create1(0), outer = epoll_create1(0);
    struct epoll_event event = {EPOLLIN, {.fd = 7}}, found;
    struct pollfd fd = {outer, POLLIN, 0};
    pipe(ends);
    SHOW(epoll_ctl(inner, EPOLL_CTL_ADD, ends[0], &event));
    SHOW(epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event));
    SHOW(epoll_ctl(inner, EPOLL_CTL_ADD, outer, &event));
    SHOW(poll(&fd, 1, 0));
    write(ends[1], "x", 1);
    SHOW(poll(&fd, 1, 0));
    SHOW(epoll_wait(outer, &found, 1, 0));
    return 0;
}
