/* call: bind; covers: SO_REUSEPORT of datagrams: sockets of one user share in what comes, by its sender; and: setuid, close */
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>

enum { MEMBERS = 4, CLIENTS = 64 };

static struct sockaddr_in there = { .sin_family = AF_INET };
static socklen_t size = sizeof there;

static int made(int first, int second) {
    int one = 1, file = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    if (first) setsockopt(file, SOL_SOCKET, first, &one, sizeof one);
    if (second) setsockopt(file, SOL_SOCKET, second, &one, sizeof one);
    return file;
}

static int bound(int file) { return bind(file, (struct sockaddr *)&there, size); }

static int members[MEMBERS], clients[CLIENTS], heard[MEMBERS], at[CLIENTS], moved;

/* Each client sends once. Members receive in between: few datagrams may wait. */
static int sent(void) {
    int count = 0, client;
    for (int i = 0; i < CLIENTS; i++) {
        count += send(clients[i], &i, sizeof i, 0) == sizeof i;
        for (int member = 0; i % 8 == 7 && member < MEMBERS; member++)
            while (recv(members[member], &client, sizeof client, 0) == sizeof client) {
                moved += at[client] >= 0 && at[client] != member;
                at[client] = member;
                heard[member]++;
            }
    }
    return count;
}

int main(void) {
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < MEMBERS; i++) {
        members[i] = made(SO_REUSEPORT, 0);
        SHOW(bound(members[i]));
        if (i == 0) getsockname(members[0], (struct sockaddr *)&there, &size);
    }
    SHOW(bound(made(0, 0)));
    SHOW(bound(made(SO_REUSEADDR, 0)));
    pid_t child = fork();
    if (child == 0) {
        SHOW(setuid(1000));
        SHOW(bound(made(SO_REUSEPORT, 0)));
        SHOW(bound(made(SO_REUSEPORT, SO_REUSEADDR)));
        _exit(0);
    }
    waitpid(child, NULL, 0);

    for (int i = 0; i < CLIENTS; i++) {
        at[i] = -1;
        clients[i] = made(0, 0);
        connect(clients[i], (struct sockaddr *)&there, size);
    }
    for (int round = 0; round < 3; round++) say("%d sent\n", sent());
    int all = 0, least = 3 * CLIENTS;
    for (int i = 0; i < MEMBERS; i++) {
        all += heard[i];
        if (heard[i] < least) least = heard[i];
    }
    say("%d received, %d moved\n", all, moved);
    HOLDS(least > 2);

    /* Those that are left take what comes. */
    close(members[0]), close(members[2]);
    memset(at, -1, sizeof at), memset(heard, 0, sizeof heard);
    say("%d sent\n", sent());
    say("%d received\n", heard[1] + heard[3]);
    HOLDS(heard[1] > 4 && heard[3] > 4);
    close(members[3]);
    say("%d sent\n", sent());
    say("%d received\n", heard[1] + heard[3]);
    return 0;
}
