/* call: recvfrom; covers: MSG_PEEK, MSG_WAITALL, MSG_DONTWAIT; also: musl */
#include "check.h"

int main(void)
{
    int pair[2];
    char text[20] = "";
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    SHOW(recv(pair[1], text, 5, MSG_DONTWAIT));
    write(pair[0], "hello", 5);
    SHOW(recv(pair[1], text, 3, MSG_PEEK));
    SHOW(recv(pair[1], text, 20, MSG_PEEK));
    write(pair[0], "world", 5);
    SHOW(recv(pair[1], text, 10, MSG_WAITALL));
    say("%s\n", text);
    SHOW(recv(pair[1], text, 5, MSG_DONTWAIT));
    SHOW(recv(pair[1], text, 0, MSG_DONTWAIT));
    SHOW(recv(0, text, 5, 0));
    SHOW(recv(77, text, 5, 0));
    return 0;
}
