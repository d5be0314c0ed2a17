/* call: bind; covers: SO_REUSEADDR of datagrams: who has a port last hears what comes, until it goes or has a peer; and: connect, close, fork */
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>

static struct sockaddr_in there = { .sin_family = AF_INET };
static socklen_t size = sizeof there;

static int made(int option) {
    int one = 1, file = socket(AF_INET, SOCK_DGRAM, 0);
    if (option) setsockopt(file, SOL_SOCKET, option, &one, sizeof one);
    return file;
}

static int bound(int file) { return bind(file, (struct sockaddr *)&there, size); }

static const char *heard(int file) {
    static char bytes[16];
    struct pollfd waits = { file, POLLIN, 0 };
    if (poll(&waits, 1, 200) != 1) return "nothing";
    ssize_t count = recv(file, bytes, sizeof bytes - 1, 0);
    bytes[count < 0 ? 0 : count] = 0;
    return bytes;
}

int main(void) {
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int plain = made(0);
    bound(plain);
    getsockname(plain, (struct sockaddr *)&there, &size);
    SHOW(bound(made(SO_REUSEADDR)));
    close(plain);

    int first = made(SO_REUSEADDR), last = made(SO_REUSEADDR), client = made(0), other = made(0);
    SHOW(bound(first));
    SHOW(bound(made(0)));
    SHOW(bound(made(SO_REUSEPORT)));
    SHOW(bound(last));
    SHOW(connect(client, (struct sockaddr *)&there, size));
    SHOW(send(client, "one", 3, 0));
    SHOW(sendto(other, "two", 3, 0, (struct sockaddr *)&there, size));
    say("last: %s", heard(last)), say(", %s\n", heard(last));
    say("first: %s\n", heard(first));

    /* The last one gets a peer: all others reach the first. */
    struct sockaddr_in peer;
    getsockname(client, (struct sockaddr *)&peer, &(socklen_t){ sizeof peer });
    SHOW(connect(last, (struct sockaddr *)&peer, sizeof peer));
    SHOW(send(client, "three", 5, 0));
    SHOW(sendto(other, "four", 4, 0, (struct sockaddr *)&there, size));
    say("last: %s, ", heard(last)), say("first: %s\n", heard(first));
    SHOW(send(last, "five", 4, 0));
    say("client: %s\n", heard(client));

    /* One that comes later hears strangers; the client's go to who is connected to it. */
    int third = made(SO_REUSEADDR);
    SHOW(bound(third));
    SHOW(send(client, "six", 3, 0));
    SHOW(sendto(other, "seven", 5, 0, (struct sockaddr *)&there, size));
    say("last: %s, ", heard(last)), say("third: %s, ", heard(third)), say("first: %s\n", heard(first));

    /* A socket that a child has, too, goes with the child. What waits at it is lost. */
    pid_t child = fork();
    if (child == 0) nap(300), _exit(0);
    SHOW(sendto(other, "lost", 4, 0, (struct sockaddr *)&there, size));
    close(third);
    SHOW(sendto(other, "lost", 4, 0, (struct sockaddr *)&there, size));
    waitpid(child, NULL, 0);
    close(last);
    SHOW(send(client, "eight", 5, 0));
    SHOW(sendto(other, "nine", 4, 0, (struct sockaddr *)&there, size));
    say("first: %s", heard(first)), say(", %s", heard(first)), say(", %s\n", heard(first));

    /* Any address and the very one. */
    close(first);
    int inner = made(SO_REUSEADDR), outer = made(SO_REUSEADDR);
    SHOW(bound(inner));
    struct sockaddr_in any = there;
    any.sin_addr.s_addr = htonl(INADDR_ANY);
    SHOW(bind(outer, (struct sockaddr *)&any, size));
    SHOW(sendto(other, "ten", 3, 0, (struct sockaddr *)&there, size));
    say("inner: %s, ", heard(inner)), say("outer: %s\n", heard(outer));
    close(inner);
    SHOW(sendto(other, "eleven", 6, 0, (struct sockaddr *)&there, size));
    say("outer: %s\n", heard(outer));
    return 0;
}
