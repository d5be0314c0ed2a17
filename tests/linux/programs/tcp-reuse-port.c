/* call: listen; covers: SO_REUSEPORT of streams: listeners of one user divide connections; and: fork, SCM_RIGHTS, close, setuid */
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>

enum { CLIENTS = 64 };

static struct sockaddr_in there = { .sin_family = AF_INET };
static socklen_t size = sizeof there;

static int made(int option) {
    int one = 1, file = socket(AF_INET, SOCK_STREAM, 0);
    if (option) setsockopt(file, SOL_SOCKET, option, &one, sizeof one);
    return file;
}

static int bound(int file) { return bind(file, (struct sockaddr *)&there, size); }

static int accepts(int listener, int most) {
    int count = 0;
    while (count < most) {
        struct pollfd waits = { listener, POLLIN, 0 };
        if (poll(&waits, 1, 200) != 1) break;
        int one = accept(listener, NULL, NULL);
        count += write(one, "x", 1) == 1;
        close(one);
    }
    return count;
}

/* Connects so many clients, and closes those that were there. */
static int connects(int *clients) {
    int count = 0;
    for (int i = 0; i < CLIENTS; i++) {
        if (clients[i]) close(clients[i]);
        clients[i] = made(0);
        count += connect(clients[i], (struct sockaddr *)&there, size) == 0;
    }
    return count;
}

static int answered(int *clients) {
    int count = 0;
    char byte;
    for (int i = 0; i < CLIENTS; i++) count += read(clients[i], &byte, 1) == 1;
    return count;
}

static void give(int to, int file) {
    char room[CMSG_SPACE(sizeof file)] = { 0 };
    struct iovec data = { "x", 1 };
    struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(head), &file, sizeof file);
    sendmsg(to, &message, 0);
}

static int taken(int from) {
    char room[CMSG_SPACE(sizeof(int))], byte;
    struct iovec data = { &byte, 1 };
    struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room };
    int file = -1;
    if (recvmsg(from, &message, 0) == 1) memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
    return file;
}

int main(void) {
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listeners[2], clients[CLIENTS] = { 0 };
    for (int i = 0; i < 2; i++) {
        listeners[i] = made(SO_REUSEPORT);
        SHOW(bound(listeners[i]));
        if (i == 0) getsockname(listeners[0], (struct sockaddr *)&there, &size);
        SHOW(listen(listeners[i], CLIENTS));
    }
    SHOW(bound(made(0)));
    SHOW(bound(made(SO_REUSEADDR)));
    pid_t child = fork();
    if (child == 0) {
        SHOW(setuid(1000));
        SHOW(bound(made(SO_REUSEPORT)));
        _exit(0);
    }
    waitpid(child, NULL, 0);
    say("%d connected\n", connects(clients));
    int one = accepts(listeners[0], CLIENTS), other = accepts(listeners[1], CLIENTS);
    say("%d accepted\n", one + other);
    HOLDS(one > 8 && other > 8);
    say("%d answered\n", answered(clients));

    /* What waits at a listener goes with it; what comes later reaches the other one. */
    say("%d connected\n", connects(clients));
    close(listeners[1]);
    one = accepts(listeners[0], CLIENTS);
    HOLDS(one > 8 && one < CLIENTS - 8);
    HOLDS(answered(clients) == one);
    say("%d connected\n", connects(clients));
    say("%d accepted\n", accepts(listeners[0], CLIENTS));

    /* One that another process has, too, stays: by fork, and in a message. */
    listeners[1] = made(SO_REUSEPORT);
    SHOW(bound(listeners[1]));
    SHOW(listen(listeners[1], CLIENTS));
    int pair[2], told[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair), pipe(told);
    give(pair[0], listeners[1]);
    child = fork();
    if (child == 0) {
        close(listeners[0]), close(listeners[1]);
        int file = taken(pair[1]), count;
        read(told[0], &(char){ 0 }, 1);
        count = accepts(file, CLIENTS);
        _exit(count > 8 && count < CLIENTS - 8 ? count : 1);
    }
    close(listeners[1]), close(pair[1]);
    say("%d connected\n", connects(clients));
    write(told[1], "x", 1);
    one = accepts(listeners[0], CLIENTS);
    int status = 0;
    waitpid(child, &status, 0);
    say("%d accepted\n", one + WEXITSTATUS(status));
    say("%d answered\n", answered(clients));

    /* The message goes with the one who could have taken it, and the listener with both. */
    close(pair[0]);
    say("%d connected\n", connects(clients));
    say("%d accepted\n", accepts(listeners[0], CLIENTS));
    return 0;
}
