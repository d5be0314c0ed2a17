/* call: bind, sendto, recvfrom; covers: datagrams between names */
#include "check.h"

int main(void)
{
    struct sockaddr_un one = {.sun_family = AF_UNIX, .sun_path = "one"}, two = {.sun_family = AF_UNIX, .sun_path = "two"}, from = {0};
    socklen_t length = sizeof from;
    char text[20] = "";
    int first = socket(AF_UNIX, SOCK_DGRAM, 0), second = socket(AF_UNIX, SOCK_DGRAM, 0);
    SHOW(bind(first, (struct sockaddr *)&one, sizeof one));
    SHOW(bind(second, (struct sockaddr *)&two, sizeof two));
    SHOW(sendto(first, "hello", 5, 0, (struct sockaddr *)&two, sizeof two));
    SHOW(recvfrom(second, text, 20, 0, (struct sockaddr *)&from, &length));
    say("%s from %s\n", text, from.sun_path);
    SHOW(send(first, "x", 1, 0));
    SHOW(connect(first, (struct sockaddr *)&two, sizeof two));
    SHOW(send(first, "again", 5, 0));
    SHOW(recv(second, text, 20, 0));
    close(second);
    SHOW(send(first, "x", 1, 0));
    return 0;
}
