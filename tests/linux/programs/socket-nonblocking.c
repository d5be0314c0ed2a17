/* call: connect, accept, sendto; covers: EAGAIN, full buffers */
#include "check.h"

int main(void)
{
    static char buffer[100000];
    int pair[2];
    long total = 0, sent;
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair);
    SHOW(read(pair[0], buffer, 1));
    while ((sent = write(pair[0], buffer, sizeof buffer)) > 0)
        total += sent;
    say("%s after some bytes: %d\n", error_name(errno), total > 4096);
    long received = 0;
    while ((sent = read(pair[1], buffer, sizeof buffer)) > 0)
        received += sent;
    HOLDS(received == total);
    SHOW(write(pair[0], "x", 1));
    return 0;
}
