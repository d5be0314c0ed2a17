// Takes a port of the internet that others may have, too, by datagrams and by a listener, and says what came of it. `hold`: keeps it until somebody kills the program.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void take(int kind, int port) {
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(port)};
    int one = 1, file = socket(AF_INET, kind, 0);
    setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(file, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
    int failed = bind(file, (struct sockaddr *)&own, sizeof own) != 0 || (kind == SOCK_STREAM && listen(file, 4) != 0);
    printf("%s: %s\n", kind == SOCK_STREAM ? "tcp" : "udp", failed ? strerrorname_np(errno) : "taken");
    fflush(stdout);
}

int main(int count, char **words) {
    if (count < 3) return 2;
    take(SOCK_DGRAM, atoi(words[2]));
    take(SOCK_STREAM, atoi(words[2]));
    if (strcmp(words[1], "hold") == 0) pause();
    return 0;
}
