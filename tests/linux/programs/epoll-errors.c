/* call: epoll_ctl, epoll_wait, epoll_create; covers: what cannot be watched, wrong arguments */
#include "check.h"

int main(void)
{
    int ends[2], set = epoll_create1(0), file = open("f", O_RDWR | O_CREAT, 0644);
    struct epoll_event event = {EPOLLIN, {0}};
    pipe(ends);
    SHOW(epoll_create1(1));
    SHOW(epoll_create(0));
    HOLDS(epoll_create(1) >= 0);
    SHOW(epoll_ctl(set, EPOLL_CTL_ADD, file, &event));
    SHOW(epoll_ctl(set, EPOLL_CTL_ADD, set, &event));
    SHOW(epoll_ctl(set, EPOLL_CTL_ADD, 77, &event));
    SHOW(epoll_ctl(77, EPOLL_CTL_ADD, ends[0], &event));
    SHOW(epoll_ctl(ends[1], EPOLL_CTL_ADD, ends[0], &event));
    SHOW(epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event));
    SHOW(epoll_ctl(set, EPOLL_CTL_DEL, ends[0], NULL));
    SHOW(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
    SHOW(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
    SHOW(epoll_ctl(set, 9, ends[0], &event));
    SHOW(epoll_ctl(set, EPOLL_CTL_ADD, ends[1], (void *)8));
    SHOW(epoll_wait(set, &event, 0, 0));
    SHOW(epoll_wait(set, &event, -1, 0));
    SHOW(epoll_wait(ends[0], &event, 1, 0));
    SHOW(epoll_wait(77, &event, 1, 0));
    return 0;
}
