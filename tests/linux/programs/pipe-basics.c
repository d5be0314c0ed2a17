/* call: pipe, pipe2; covers: bytes in order, the wrong ends, flags; also: musl dynamic */
#include "check.h"

int main(void)
{
    int ends[2];
    char text[10] = "";
    SHOW(pipe(ends));
    say("%d %d\n", ends[0], ends[1]);
    SHOW(write(ends[1], "hello", 5));
    SHOW(read(ends[0], text, 3));
    SHOW(read(ends[0], text + 3, 6));
    say("%s\n", text);
    SHOW(write(ends[0], "x", 1));
    SHOW(read(ends[1], text, 1));
    SHOW(pipe2(ends, O_CLOEXEC | O_NONBLOCK));
    SHOW(fcntl(ends[0], F_GETFD));
    SHOW(fcntl(ends[1], F_GETFL) & (O_ACCMODE | O_NONBLOCK));
    SHOW(pipe2(ends, 1 << 20));
    SHOW(pipe((int *)8));
    return 0;
}
