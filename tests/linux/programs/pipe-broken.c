/* call: pipe, write; covers: SIGPIPE and EPIPE; also: musl */
#include "check.h"

static int ends[2];

static void handler(int number)
{
    say("%s\n", signal_name(number));
}

static void unhandled(void)
{
    signal(SIGPIPE, SIG_DFL);
    write(ends[1], "x", 1);
    say("not reached\n");
}

int main(void)
{
    pipe(ends);
    close(ends[0]);
    handle(SIGPIPE, handler, 0);
    SHOW(write(ends[1], "x", 1));
    signal(SIGPIPE, SIG_IGN);
    SHOW(write(ends[1], "x", 1));
    SHOW(write(ends[1], "", 0));
    in_child(unhandled);
    return 0;
}
