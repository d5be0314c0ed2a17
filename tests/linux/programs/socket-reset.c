/* call: close, read; covers: the other side closes with bytes unread */
#include "check.h"

int main(void)
{
    int pair[2];
    char byte;
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    write(pair[0], "unread", 6);
    SHOW(close(pair[1]));
    SHOW(read(pair[0], &byte, 1));
    SHOW(read(pair[0], &byte, 1));
    return 0;
}
