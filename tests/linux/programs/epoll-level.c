/* call: epoll_create1, epoll_ctl, epoll_wait; covers: level-triggered events and their data; also: musl dynamic */
#include "check.h"

int main(void)
{
    int ends[2];
    struct epoll_event event = {EPOLLIN, {.u64 = 0x123456789abcdef}}, found[4];
    pipe(ends);
    int set = epoll_create1(EPOLL_CLOEXEC);
    SHOW(fcntl(set, F_GETFD));
    SHOW(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
    SHOW(epoll_wait(set, found, 4, 0));
    write(ends[1], "x", 1);
    SHOW(epoll_wait(set, found, 4, -1));
    say("%#x %#lx\n", found[0].events, (long)found[0].data.u64);
    SHOW(epoll_wait(set, found, 4, 0));
    read(ends[0], found, 1);
    SHOW(epoll_wait(set, found, 4, 10));
    close(ends[1]);
    SHOW(epoll_wait(set, found, 4, 0));
    say("%#x\n", found[0].events);
    return 0;
}
