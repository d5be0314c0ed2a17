/* call: fcntl, pipe; covers: F_GETPIPE_SZ and F_SETPIPE_SZ */
#include "check.h"

int main(void)
{
    int ends[2], file = open("f", O_RDWR | O_CREAT, 0644);
    pipe(ends);
    SHOW(fcntl(ends[0], F_GETPIPE_SZ));
    SHOW(fcntl(ends[1], F_SETPIPE_SZ, 4096));
    SHOW(fcntl(ends[0], F_GETPIPE_SZ));
    SHOW(fcntl(ends[1], F_SETPIPE_SZ, 10000));
    SHOW(fcntl(file, F_GETPIPE_SZ));
    return 0;
}
