/* call: sendto; covers: datagrams of others to a socket that has a peer are lost; and: connect, recv, poll */
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>

static struct sockaddr_in addresses[3];
static socklen_t size = sizeof(struct sockaddr_in);

static const char *heard(int file) {
    static char bytes[16];
    struct pollfd waits = { file, POLLIN, 0 };
    if (poll(&waits, 1, 200) != 1) return "nothing";
    ssize_t count = recv(file, bytes, sizeof bytes - 1, 0);
    bytes[count < 0 ? 0 : count] = 0;
    return bytes;
}

int main(void) {
    int files[3];
    for (int i = 0; i < 3; i++) {
        files[i] = socket(AF_INET, SOCK_DGRAM, 0);
        addresses[i] = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        bind(files[i], (struct sockaddr *)&addresses[i], size);
        getsockname(files[i], (struct sockaddr *)&addresses[i], &size);
    }
    /* A port that was chosen goes with a peer, one that was named stays. */
    close(files[0]);
    files[0] = socket(AF_INET, SOCK_DGRAM, 0);
    SHOW(bind(files[0], (struct sockaddr *)&addresses[0], size));
    int server = files[0], peer = files[1], stranger = files[2];
    SHOW(connect(server, (struct sockaddr *)&addresses[1], size));
    for (int i = 0; i < 40; i++)
        if (sendto(stranger, "stranger", 8, 0, (struct sockaddr *)&addresses[0], size) != 8) say("not sent\n");
    SHOW(sendto(peer, "peer", 4, 0, (struct sockaddr *)&addresses[0], size));
    say("server: %s", heard(server)), say(", %s\n", heard(server));

    /* A stranger that is connected learns that nobody takes it. */
    SHOW(connect(stranger, (struct sockaddr *)&addresses[0], size));
    SHOW(send(stranger, "lost", 4, 0));
    SHOW(send(stranger, "x", 1, 0));
    say("server: %s\n", heard(server));

    /* What waited before the socket had a peer stays. */
    SHOW(connect(server, &(struct sockaddr){ .sa_family = AF_UNSPEC }, sizeof(struct sockaddr)));
    SHOW(sendto(peer, "before", 6, 0, (struct sockaddr *)&addresses[0], size));
    SHOW(connect(server, (struct sockaddr *)&addresses[2], size));
    SHOW(sendto(peer, "behind", 6, 0, (struct sockaddr *)&addresses[0], size));
    SHOW(send(stranger, "known", 5, 0));
    say("server: %s", heard(server)), say(", %s", heard(server)), say(", %s\n", heard(server));

    /* One that is connected to nobody who is there. */
    close(stranger);
    SHOW(sendto(peer, "lost", 4, 0, (struct sockaddr *)&addresses[0], size));
    say("server: %s\n", heard(server));

    /* A socket does not hear itself if it has another peer. */
    SHOW(connect(peer, (struct sockaddr *)&addresses[0], size));
    SHOW(sendto(peer, "self", 4, 0, (struct sockaddr *)&addresses[1], size));
    say("peer: %s\n", heard(peer));
    return 0;
}
