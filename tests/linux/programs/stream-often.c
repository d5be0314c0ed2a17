/* call: read, write, recvfrom, sendto; covers: a stream that is used often, with everything that is done with streams; also: musl dynamic */
#include "check.h"

static int pair[2];

static void use(int times)
{
    char byte = 0;
    int wrong = 0;
    for (int i = 0; i < times; i++) {
        wrong += write(pair[0], "a", 1) != 1 || read(pair[1], &byte, 1) != 1 || byte != 'a';
        wrong += send(pair[1], "b", 1, 0) != 1 || recv(pair[0], &byte, 1, 0) != 1 || byte != 'b';
    }
    say("wrong: %d\n", wrong);
}

static int events(int fd)
{
    struct pollfd entry = {.fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP};
    poll(&entry, 1, 0);
    return entry.revents;
}

static void flags(void)
{
    char text[40] = "";
    int count = 0;
    write(pair[0], "hello", 5);
    SHOW(recv(pair[1], text, 3, MSG_PEEK));
    SHOW(recv(pair[1], text, 30, MSG_PEEK));
    write(pair[0], " world", 6);
    SHOW(ioctl(pair[1], FIONREAD, &count));
    say("%d bytes, events %x and %x\n", count, events(pair[0]), events(pair[1]));
    SHOW(recv(pair[1], text, 11, MSG_WAITALL));
    say("%s\n", text);
    SHOW(recv(pair[1], text, 30, MSG_DONTWAIT));
    SHOW(recv(pair[1], text, 0, MSG_DONTWAIT));
    SHOW(read(pair[1], text, 0));
    SHOW(write(pair[0], "", 0));
    SHOW(send(pair[0], "trunc", 5, MSG_MORE));
    SHOW(recv(pair[1], text, 2, MSG_TRUNC));
    SHOW(recv(pair[1], text, 30, 0));
}

static void pieces(void)
{
    char one[4] = "", two[9] = "";
    struct iovec out[2] = {{"abcdef", 6}, {"ghi", 3}}, in[2] = {{one, 3}, {two, 8}};
    struct sockaddr_un from;
    struct msghdr message = {.msg_iov = in, .msg_iovlen = 2, .msg_name = &from, .msg_namelen = sizeof from};
    SHOW(writev(pair[0], out, 2));
    SHOW(recvmsg(pair[1], &message, 0));
    say("%s %s, name of %d bytes, flags %x\n", one, two, (int)message.msg_namelen, message.msg_flags);
    SHOW(writev(pair[0], out, 2));
    SHOW(readv(pair[1], in, 2));
}

static void fill(void)
{
    static char buffer[30000];
    long total = 0, done;
    int count = 0;
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    while ((done = write(pair[0], buffer, sizeof buffer)) > 0)
        total += done;
    say("%s after some bytes: %d\n", error_name(errno), total > 100000 && total < 300000);
    SHOW(send(pair[0], "x", 1, 0));
    ioctl(pair[1], FIONREAD, &count);
    HOLDS(count == total);
    say("events %x and %x\n", events(pair[0]), events(pair[1]));
    while (total > 0 && (done = recv(pair[1], buffer, sizeof buffer, MSG_DONTWAIT)) > 0)
        total -= done;
    HOLDS(total == 0);
    SHOW(read(pair[0], buffer, 1));
    fcntl(pair[0], F_SETFL, 0);
    say("events %x and %x\n", events(pair[0]), events(pair[1]));
}

static void end(void)
{
    char text[9] = "";
    signal(SIGPIPE, SIG_IGN);
    write(pair[0], "last", 4);
    SHOW(shutdown(pair[0], SHUT_WR));
    SHOW(write(pair[0], "x", 1));
    SHOW(write(pair[0], "", 0));
    say("events %x and %x\n", events(pair[0]), events(pair[1]));
    SHOW(read(pair[1], text, 9));
    SHOW(read(pair[1], text, 9));
    SHOW(write(pair[1], "back", 4));
    SHOW(shutdown(pair[0], SHUT_RD));
    SHOW(write(pair[1], "back", 4));
    SHOW(read(pair[0], text, 9));
    SHOW(read(pair[0], text, 9));
    say("events %x and %x\n", events(pair[0]), events(pair[1]));
}

int main(void)
{
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    for (int times = 4; times < 200; times *= 7) {
        use(times);
        flags();
        pieces();
        fill();
    }
    end();
    return 0;
}
