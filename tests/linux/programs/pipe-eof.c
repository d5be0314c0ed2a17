/* call: pipe, read, close; covers: the end comes when the last writer has gone; also: musl */
#include "check.h"

int main(void)
{
    int ends[2];
    char text[10];
    pipe(ends);
    int copy = dup(ends[1]);
    write(ends[1], "abc", 3);
    SHOW(close(ends[1]));
    SHOW(read(ends[0], text, 10));
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    SHOW(read(ends[0], text, 10));
    SHOW(close(copy));
    SHOW(read(ends[0], text, 10));
    SHOW(read(ends[0], text, 10));
    return 0;
}
