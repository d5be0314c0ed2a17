/* call: epoll_wait, fork; covers: a wait that another process ends */
#include "check.h"

static int ends[2];

static void child(void)
{
    nap(20);
    write(ends[1], "x", 1);
}

int main(void)
{
    struct epoll_event event = {EPOLLIN, {.fd = 3}};
    int set = epoll_create1(0);
    pipe(ends);
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
    pid_t id = make_child(child);
    SHOW(epoll_wait(set, &event, 1, -1));
    wait_for(id);
    return 0;
}
