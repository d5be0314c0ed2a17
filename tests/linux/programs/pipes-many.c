/* call: pipe, read, write, poll; covers: a pipe that is used much by several readers and writers, cut off by signals, killed, polled, and passed on */
#include "check.h"
#include <poll.h>
#include <sys/socket.h>

enum { WRITERS = 3, READERS = 2, RECORDS = 400, SIZE = 64 };

static int ends[2], counted[2];
static volatile int alarms;

static void on_alarm(int number)
{
    alarms++;
}

/* Nothing but whole records of one writer, each of them once. */
static void reader(void)
{
    int counts[WRITERS] = {0}, got;
    char record[SIZE];
    while ((got = read(ends[0], record, SIZE)) > 0) {
        if (got != SIZE || memcmp(record, record + 1, SIZE - 1) != 0 || record[0] < 'a' || record[0] >= 'a' + WRITERS)
            _exit(1);
        counts[record[0] - 'a']++;
    }
    write(counted[1], counts, sizeof counts);
    _exit(got < 0);
}

static void writer(int number)
{
    char record[SIZE];
    memset(record, 'a' + number, SIZE);
    for (int count = 0; count < RECORDS; count++)
        if (write(ends[1], record, SIZE) != SIZE)
            _exit(1);
    _exit(0);
}

static int all_well(int children)
{
    int well = 0, status;
    while (children-- > 0)
        well += wait(&status) > 0 && status == 0;
    return well;
}

static void many(void)
{
    int total[WRITERS] = {0}, counts[WRITERS];
    pipe(ends);
    pipe(counted);
    for (int number = 0; number < READERS; number++)
        if (fork() == 0) {
            close(ends[1]);
            reader();
        }
    for (int number = 0; number < WRITERS; number++)
        if (fork() == 0)
            writer(number);
    close(ends[0]);
    close(ends[1]);
    say("%d did well\n", all_well(READERS + WRITERS));
    for (int number = 0; number < READERS; number++) {
        read(counted[0], counts, sizeof counts);
        for (int index = 0; index < WRITERS; index++)
            total[index] += counts[index];
    }
    say("%d %d %d\n", total[0], total[1], total[2]);
}

/* Both ways, so often that it is shared; then the partner is killed. */
static void back_and_forth(int *there, int *back, int rounds)
{
    unsigned char byte;
    int wrong = 0;
    for (int count = 0; count < rounds; count++) {
        byte = count;
        write(there[1], &byte, 1);
        wrong += read(back[0], &byte, 1) != 1 || byte != (unsigned char)(count + 1);
    }
    say("%d rounds, %d wrong\n", rounds, wrong);
}

static pid_t echo(int *there, int *back)
{
    unsigned char byte;
    pid_t child = fork();
    if (child != 0)
        return child;
    close(there[1]);
    close(back[0]);
    while (read(there[0], &byte, 1) == 1 && ++byte >= 0)
        write(back[1], &byte, 1);
    _exit(0);
}

static void partners(void)
{
    int there[2], back[2], status;
    char byte;
    struct pollfd look;
    pipe(there);
    pipe(back);
    pid_t child = echo(there, back);
    close(there[0]);
    close(back[1]);
    back_and_forth(there, back, 100);
    /* Both kinds of waiting, in turn. */
    look = (struct pollfd){.fd = back[0], .events = POLLIN};
    for (int count = 0; count < 5; count++) {
        write(there[1], "0", 1);
        SHOW(poll(&look, 1, -1));
        SHOW(read(back[0], &byte, 1));
    }
    SHOW(poll(&look, 1, 0));
    fcntl(back[0], F_SETFL, O_NONBLOCK);
    SHOW(read(back[0], &byte, 1));
    fcntl(back[0], F_SETFL, 0);
    /* A signal cuts a wait off, and nothing is lost. */
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    alarm(1);
    SHOW(read(back[0], &byte, 1));
    say("%d alarms\n", alarms);
    back_and_forth(there, back, 20);
    signal(SIGPIPE, SIG_IGN);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    SHOW(read(back[0], &byte, 1));
    SHOW(write(there[1], "x", 1));
    SHOW(poll(&look, 1, 0));
    say("revents %x\n", look.revents);
}

/* A full pipe: the writer waits until there is room, and whoever cannot is told. */
static void full(void)
{
    static char block[4096];
    int count = 0, size = 0, got;
    pipe(ends);
    for (count = 0; count < 40; count++) {
        write(ends[1], block, 100);
        read(ends[0], block, 100);
    }
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    for (count = 0; (got = write(ends[1], block, sizeof block)) > 0; count++)
        size += got;
    say("%d writes, %d bytes, then %d\n", count, size, errno);
    SHOW(read(ends[0], block, 1));
    SHOW(write(ends[1], block, 1));
    SHOW(fcntl(ends[0], F_SETPIPE_SZ, 1 << 18));
    SHOW(write(ends[1], block, 1));
    SHOW(ioctl(ends[0], FIONREAD, &got));
    say("%d there\n", got);
    fcntl(ends[1], F_SETFL, 0);
    if (fork() == 0) {
        static char large[300000];
        memset(large, 'x', sizeof large);
        _exit(write(ends[1], large, sizeof large) != sizeof large);
    }
    close(ends[1]);
    for (size = 0; (got = read(ends[0], block, sizeof block)) > 0;)
        size += got;
    say("%d in all, %d well\n", size, all_well(1));
}

/* A descriptor that comes through a socket leads to the same pipe. */
static void passed(void)
{
    int pair[2], got = -1;
    char control[CMSG_SPACE(sizeof(int))] = {0}, byte = 'p';
    struct iovec piece = {&byte, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    pipe(ends);
    for (int count = 0; count < 40; count++) {
        write(ends[1], &byte, 1);
        read(ends[0], &byte, 1);
    }
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
    memcpy(CMSG_DATA(head), &ends[1], sizeof(int));
    SHOW(sendmsg(pair[0], &message, 0));
    message.msg_controllen = sizeof control;
    SHOW(recvmsg(pair[1], &message, 0));
    memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
    close(ends[1]);
    write(got, "through", 7);
    char text[8] = {0};
    SHOW(read(ends[0], text, 7));
    say("%s\n", text);
    close(got);
    SHOW(read(ends[0], text, 7));
}

int main(void)
{
    many();
    partners();
    full();
    passed();
    return 0;
}
