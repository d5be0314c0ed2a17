/* call: socketpair; covers: bytes both ways, the end, errors; also: musl dynamic */
#include "check.h"

int main(void)
{
    int pair[2];
    char text[20] = "";
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    SHOW(write(pair[0], "hello", 5));
    SHOW(write(pair[0], "world", 5));
    SHOW(read(pair[1], text, 7));
    SHOW(read(pair[1], text + 7, 12));
    say("%s\n", text);
    SHOW(send(pair[1], "back", 4, 0));
    SHOW(recv(pair[0], text, 20, 0));
    SHOW(close(pair[1]));
    SHOW(read(pair[0], text, 1));
    SHOW(send(pair[0], "x", 1, MSG_NOSIGNAL));
    return 0;
}
