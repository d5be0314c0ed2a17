/* call: epoll_wait; covers: more events than there is room; all get their turn */
#include "check.h"

int main(void)
{
    int pairs[20][2], set = epoll_create1(0), seen[20] = {0}, total = 0;
    struct epoll_event found[3];
    for (int index = 0; index < 20; index++) {
        struct epoll_event event = {EPOLLIN, {.u32 = index}};
        pipe(pairs[index]);
        epoll_ctl(set, EPOLL_CTL_ADD, pairs[index][0], &event);
        write(pairs[index][1], "x", 1);
    }
    SHOW(epoll_wait(set, found, 3, 0));
    for (int round = 0; round < 20; round++) {
        int count = epoll_wait(set, found, 3, 0);
        for (int index = 0; index < count; index++)
            total += !seen[found[index].data.u32]++;
    }
    say("%d of 20 seen\n", total);
    return 0;
}
