/* call: poll; covers: a writer without readers, sockets that are shut down */
#include "check.h"

int main(void)
{
    int ends[2], pair[2];
    pipe(ends);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    struct pollfd fds[] = {{ends[1], POLLOUT, 0}, {pair[0], POLLIN | POLLOUT | POLLRDHUP, 0}};
    close(ends[0]);
    shutdown(pair[1], SHUT_WR);
    SHOW(poll(fds, 2, 0));
    say("%#x %#x\n", fds[0].revents, fds[1].revents);
    close(pair[1]);
    SHOW(poll(fds, 2, 0));
    say("%#x %#x\n", fds[0].revents, fds[1].revents);
    return 0;
}
