/* call: socketpair; covers: SOCK_SEQPACKET */
#include "check.h"

int main(void)
{
    int pair[2];
    char text[20] = "";
    SHOW(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
    SHOW(write(pair[0], "first", 5));
    SHOW(write(pair[0], "second", 6));
    SHOW(read(pair[1], text, 20));
    SHOW(read(pair[1], text, 2));
    SHOW(recv(pair[1], text, 20, MSG_DONTWAIT));
    SHOW(close(pair[0]));
    SHOW(read(pair[1], text, 20));
    return 0;
}
