/* call: socketpair; covers: messages keep their ends, and are cut off */
#include "check.h"

int main(void)
{
    int pair[2];
    char text[20] = "";
    SHOW(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    SHOW(write(pair[0], "first", 5));
    SHOW(write(pair[0], "second", 6));
    SHOW(write(pair[0], "", 0));
    SHOW(read(pair[1], text, 3));
    SHOW(recv(pair[1], text, 3, MSG_TRUNC));
    SHOW(read(pair[1], text, 20));
    SHOW(recv(pair[1], text, 20, MSG_DONTWAIT));
    return 0;
}
