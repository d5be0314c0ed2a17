/* call: shutdown; covers: one direction, both, errors */
#include "check.h"

int main(void)
{
    int pair[2];
    char text[10];
    signal(SIGPIPE, SIG_IGN);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    write(pair[0], "abc", 3);
    SHOW(shutdown(pair[0], SHUT_WR));
    SHOW(write(pair[0], "x", 1));
    SHOW(read(pair[1], text, 10));
    SHOW(read(pair[1], text, 10));
    SHOW(write(pair[1], "back", 4));
    SHOW(read(pair[0], text, 10));
    SHOW(shutdown(pair[0], SHUT_RD));
    SHOW(write(pair[1], "x", 1));
    SHOW(read(pair[0], text, 10));
    SHOW(shutdown(pair[0], 7));
    SHOW(shutdown(0, SHUT_RD));
    SHOW(shutdown(77, SHUT_RD));
    return 0;
}
