/* call: pipe, fcntl; covers: EAGAIN on both sides, and what fits; also: musl */
#include "check.h"

static char buffer[70000];

int main(void)
{
    int ends[2];
    pipe2(ends, O_NONBLOCK);
    SHOW(read(ends[0], buffer, 1));
    SHOW(write(ends[1], buffer, sizeof buffer));
    SHOW(write(ends[1], buffer, 1));
    SHOW(read(ends[0], buffer, 4096));
    SHOW(write(ends[1], buffer, 4096));
    SHOW(write(ends[1], buffer, 4096));
    SHOW(read(ends[0], buffer, sizeof buffer));
    SHOW(read(ends[0], buffer, sizeof buffer));
    return 0;
}
