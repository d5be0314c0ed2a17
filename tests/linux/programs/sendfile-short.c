/* call: sendfile; covers: a socket or pipe that takes a part, what it did not take left in the file, nothing taken at all */
#include "check.h"

#define SIZE (1 << 20)

/* On the heap: the file of all programs is what each of their processes has in memory. */
static char *sent, *got;

static void make_file(void)
{
    sent = malloc(SIZE), got = malloc(SIZE);
    for (int i = 0; i < SIZE; i++)
        sent[i] = i * 31 + i / 4096;
    int file = open("from", O_WRONLY | O_CREAT, 0644);
    write(file, sent, SIZE);
    close(file);
}

/* Sends the file through a pair of ends of which neither waits. */
static void through(int out, int in, const char *name)
{
    int from = open("from", O_RDONLY);
    long at = 0, refused = 0, ahead = 0;
    while (at < SIZE) {
        long count = sendfile(out, from, NULL, SIZE);
        if (count < 0 && errno != EAGAIN)
            SHOW(count);
        refused += count < 0;
        long put = lseek(from, 0, SEEK_CUR);
        while ((count = read(in, got + at, SIZE - at)) > 0)
            at += count;
        ahead += put != at;
    }
    say("%s: %s, refused: %s, ahead: %ld\n", name, memcmp(sent, got, SIZE) ? "differs" : "the same", refused ? "yes" : "no", ahead);
    close(from);
}

/* A full one takes nothing, and the file stays where it is. */
static void full(int out)
{
    int from = open("from", O_RDONLY);
    while (write(out, got, 4096) > 0)
        ;
    long count, sum = 0;
    while ((count = sendfile(out, from, NULL, 100)) > 0)
        sum += count;
    say("%s\n", error_name(errno));
    HOLDS(lseek(from, 0, SEEK_CUR) == sum);
    close(from);
}

int main(void)
{
    int ends[2];
    make_file();
    pipe2(ends, O_NONBLOCK);
    through(ends[1], ends[0], "pipe");
    full(ends[1]);
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends);
    through(ends[1], ends[0], "socket");
    full(ends[1]);
    return 0;
}
