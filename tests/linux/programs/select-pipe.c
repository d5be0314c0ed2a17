/* call: select; covers: the three sets and the count; also: musl */
#include "check.h"

int main(void)
{
    int ends[2];
    fd_set readable, writable;
    struct timeval none = {0, 0};
    pipe(ends);
    FD_ZERO(&readable);
    FD_ZERO(&writable);
    FD_SET(ends[0], &readable);
    FD_SET(ends[1], &writable);
    SHOW(select(10, &readable, &writable, NULL, &none));
    say("%d %d\n", FD_ISSET(ends[0], &readable) != 0, FD_ISSET(ends[1], &writable) != 0);
    write(ends[1], "x", 1);
    FD_SET(ends[0], &readable);
    SHOW(select(ends[0] + 1, &readable, NULL, NULL, NULL));
    SHOW(select(ends[0], &readable, NULL, NULL, &none));
    say("%d\n", FD_ISSET(ends[0], &readable) != 0);
    return 0;
}
