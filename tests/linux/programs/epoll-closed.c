/* call: epoll_ctl, close; covers: a descriptor goes with its last copy */
#include "check.h"

int main(void)
{
    int ends[2], set = epoll_create1(0);
    struct epoll_event event = {EPOLLIN, {.fd = 5}};
    pipe(ends);
    int copy = dup(ends[0]);
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
    write(ends[1], "x", 1);
    close(ends[0]);
    SHOW(epoll_wait(set, &event, 1, 0));
    close(copy);
    SHOW(epoll_wait(set, &event, 1, 0));
    return 0;
}
