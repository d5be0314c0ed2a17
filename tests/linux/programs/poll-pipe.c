/* call: poll; covers: readable, writable, hung up, not open; also: musl dynamic */
#include "check.h"

static void show(struct pollfd *fds, int count, int timeout)
{
    int ready = poll(fds, count, timeout);
    say("%d:", ready);
    for (int index = 0; index < count; index++)
        say(" %#x", fds[index].revents);
    say("\n");
}

int main(void)
{
    int ends[2];
    pipe(ends);
    struct pollfd fds[] = {{ends[0], POLLIN, 0}, {ends[1], POLLOUT, 0}, {77, POLLIN, 0}, {-1, POLLIN, 0}};
    show(fds, 1, 0);
    show(fds, 2, 0);
    show(fds, 4, 0);
    write(ends[1], "x", 1);
    show(fds, 1, -1);
    fds[0].events = 0;
    show(fds, 1, 0);
    fds[0].events = POLLIN;
    close(ends[1]);
    show(fds, 1, 0);
    read(ends[0], &ends[1], 1);
    show(fds, 1, 0);
    return 0;
}
