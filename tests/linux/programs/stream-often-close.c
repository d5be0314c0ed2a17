/* call: close, write, read; covers: a stream or pipe that was used often, and one end of it goes */
#include "check.h"

static int pair[2];

static void use(int in, int out)
{
    char byte = 0;
    int wrong = 0;
    for (int i = 0; i < 40; i++)
        wrong += write(in, "a", 1) != 1 || read(out, &byte, 1) != 1 || byte != 'a';
    say("wrong: %d\n", wrong);
}

static void make(void)
{
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    use(pair[0], pair[1]);
    use(pair[1], pair[0]);
}

static void broken(int number)
{
    (void)number;
    say("SIGPIPE\n");
}

static void unread(void)
{
    char text[9] = "";
    make();
    write(pair[0], "unread", 6);
    write(pair[1], "read", 4);
    SHOW(close(pair[1]));
    SHOW(write(pair[0], "x", 1));
    SHOW(send(pair[0], "x", 1, MSG_NOSIGNAL));
    SHOW(read(pair[0], text, 9));
    SHOW(read(pair[0], text, 9));
    SHOW(read(pair[0], text, 9));
    close(pair[0]);
}

static void orderly(void)
{
    char text[9] = "";
    make();
    write(pair[1], "read", 4);
    SHOW(close(pair[1]));
    SHOW(write(pair[0], "x", 1));
    SHOW(read(pair[0], text, 9));
    SHOW(read(pair[0], text, 9));
    close(pair[0]);
}

static void a_pipe(void)
{
    int ends[2];
    char text[9] = "";
    pipe(ends);
    use(ends[1], ends[0]);
    SHOW(close(ends[0]));
    SHOW(write(ends[1], "x", 1));
    close(ends[1]);
    pipe(ends);
    use(ends[1], ends[0]);
    write(ends[1], "rest", 4);
    SHOW(close(ends[1]));
    SHOW(read(ends[0], text, 9));
    SHOW(read(ends[0], text, 9));
    close(ends[0]);
}

/* Of two processes that have an end, the second closes it later. */
static void child(void)
{
    char text[9];
    close(pair[0]);
    nap(30);
    read(pair[1], text, 1);
    nap(30);
}

static void forked(void)
{
    char text[9] = "";
    make();
    pid_t pid = make_child(child);
    close(pair[1]);
    SHOW(write(pair[0], "xy", 2));
    SHOW(read(pair[0], text, 9));
    SHOW(read(pair[0], text, 9));
    SHOW(write(pair[0], "x", 1));
    wait_for(pid);
    close(pair[0]);
}

static void replaced(void)
{
    make();
    SHOW(dup2(1, pair[1]) == pair[1]);
    SHOW(write(pair[0], "x", 1));
    close(pair[0]), close(pair[1]);
}

int main(void)
{
    handle(SIGPIPE, broken, 0);
    unread();
    orderly();
    a_pipe();
    forked();
    replaced();
    return 0;
}
