/* call: read, write, poll; covers: who waits at a stream that is used often: signals, limits of time, polls, several readers and writers; also: musl */
#include "check.h"

static int pair[2];

static void use(void)
{
    char byte = 0;
    int wrong = 0;
    for (int i = 0; i < 40; i++) {
        wrong += write(pair[0], "a", 1) != 1 || read(pair[1], &byte, 1) != 1 || byte != 'a';
        wrong += write(pair[1], "b", 1) != 1 || read(pair[0], &byte, 1) != 1 || byte != 'b';
    }
    say("wrong: %d\n", wrong);
}

static void rang(int number)
{
    say("%s\n", signal_name(number));
}

static void ring(int milliseconds)
{
    struct itimerval timer = {.it_value = {0, 1000 * milliseconds}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Uses its end often enough to have all of it, and answers the last byte late. */
static void late_writer(void)
{
    char byte;
    for (int i = 0; i < 40; i++)
        read(pair[1], &byte, 1), write(pair[1], &byte, 1);
    nap(60);
    write(pair[1], "late", 4);
}

static void with_child(void)
{
    char byte;
    for (int i = 0; i < 40; i++)
        write(pair[0], "x", 1), read(pair[0], &byte, 1);
}

static void signals(void)
{
    char text[9] = "";
    handle(SIGALRM, rang, 0);
    ring(20);
    SHOW(read(pair[0], text, 9));
    handle(SIGALRM, rang, SA_RESTART);
    pid_t child = make_child(late_writer);
    with_child();
    ring(20);
    SHOW(read(pair[0], text, 9));
    say("%s\n", text);
    wait_for(child);
}

static void limits(void)
{
    struct timeval limit = {0, 20000}, none = {0, 0};
    char text[9] = "";
    static char buffer[400000];
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    SHOW(read(pair[0], text, 9));
    write(pair[1], "there", 5);
    SHOW(recv(pair[0], text, 9, 0));
    long sent = write(pair[0], buffer, sizeof buffer);
    HOLDS(sent > 100000 && sent < 300000);
    SHOW(write(pair[0], "x", 1));
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
    setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
    for (long count; sent > 0 && (count = read(pair[1], buffer, sizeof buffer)) > 0;)
        sent -= count;
    HOLDS(sent == 0);
    use();
}

static void polls(void)
{
    struct pollfd entry = {.fd = pair[0], .events = POLLIN};
    struct epoll_event event = {.events = EPOLLIN | EPOLLET}, found;
    char text[9] = "";
    int set = epoll_create1(0);
    epoll_ctl(set, EPOLL_CTL_ADD, pair[0], &event);
    SHOW(epoll_wait(set, &found, 1, 0));
    pid_t child = make_child(late_writer);
    with_child();
    SHOW(poll(&entry, 1, 10));
    SHOW(poll(&entry, 1, 5000));
    say("events %x\n", entry.revents);
    SHOW(epoll_wait(set, &found, 1, 5000));
    SHOW(epoll_wait(set, &found, 1, 0));
    SHOW(read(pair[0], text, 9));
    wait_for(child);
    close(set);
}

static void many_writers(void)
{
    char numbers[64];
    for (int i = 0; i < 300; i++) {
        memset(numbers, i, sizeof numbers);
        for (size_t done = 0; done < sizeof numbers;)
            done += (size_t)write(pair[1], numbers + done, sizeof numbers - done);
    }
}

static void several(void)
{
    static char buffer[1000];
    pid_t children[3];
    long total = 0, sum = 0, count;
    for (int i = 0; i < 3; i++)
        children[i] = make_child(many_writers);
    while (total < 3 * 300 * 64 && (count = read(pair[0], buffer, sizeof buffer)) > 0) {
        total += count;
        for (long i = 0; i < count; i++)
            sum += (unsigned char)buffer[i];
    }
    for (int i = 0; i < 3; i++)
        wait_for(children[i]);
    say("%ld bytes, sum %ld\n", total, sum);
}

static void slow_reader(void)
{
    static char buffer[5000];
    long total = 0, count;
    nap(20);
    while (total < 600000 && (count = read(pair[1], buffer, sizeof buffer)) > 0)
        total += count;
    say("%ld bytes\n", total);
    shutdown(pair[1], SHUT_RDWR);
}

static void large(void)
{
    static char buffer[600000];
    signal(SIGPIPE, SIG_IGN);
    pid_t child = make_child(slow_reader);
    /* The child prints before it shuts the stream down. */
    long written = write(pair[0], buffer, sizeof buffer), got = read(pair[0], buffer, 9);
    SHOW(written);
    SHOW(got);
    SHOW(write(pair[0], buffer, 9));
    wait_for(child);
}

int main(void)
{
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    use();
    signals();
    limits();
    polls();
    several();
    large();
    return 0;
}
