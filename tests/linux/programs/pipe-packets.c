/* call: pipe2; covers: O_DIRECT keeps writes apart */
#include "check.h"

int main(void)
{
    int ends[2];
    char text[20];
    SHOW(pipe2(ends, O_DIRECT));
    SHOW(write(ends[1], "abc", 3));
    SHOW(write(ends[1], "defgh", 5));
    SHOW(read(ends[0], text, 20));
    SHOW(read(ends[0], text, 2));
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    SHOW(read(ends[0], text, 20));
    return 0;
}
