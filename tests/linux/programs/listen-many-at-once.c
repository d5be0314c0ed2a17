/* call: listen; covers: more connections at once than a listener of the internet asks to wait: all are served in the end */
#include "check.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

enum { MANY = 5 };

int main(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0), made[MANY], served = 0, answered = 0;
    say("%d\n", bind(listener, (struct sockaddr *)&at, size));
    getsockname(listener, (struct sockaddr *)&at, &size);
    say("%d\n", listen(listener, 2));
    for (int i = 0; i < MANY; i++) {
        made[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(made[i], (struct sockaddr *)&at, size);
    }
    for (int i = 0; i < MANY; i++) {
        struct pollfd waits = {listener, POLLIN, 0};
        if (poll(&waits, 1, 20000) != 1) break;
        int one = accept(listener, NULL, NULL);
        served += one >= 0 && write(one, "x", 1) == 1;
        close(one);
    }
    for (int i = 0; i < MANY; i++) {
        struct pollfd waits = {made[i], POLLIN, 0};
        char byte;
        answered += poll(&waits, 1, 20000) == 1 && read(made[i], &byte, 1) == 1;
    }
    say("%d served, %d answered\n", served, answered);
    return 0;
}
