/* call: pipe, fork; covers: the reader ends while the writer waits */
#include "check.h"

static int ends[2];

static void reader(void)
{
    char byte;
    close(ends[1]);
    read(ends[0], &byte, 1);
    nap(20);
}

int main(void)
{
    static char buffer[200000];
    pipe(ends);
    signal(SIGPIPE, SIG_IGN);
    pid_t child = make_child(reader);
    close(ends[0]);
    long sent = write(ends[1], buffer, sizeof buffer);
    HOLDS(sent > 0 && sent < (long)sizeof buffer);
    SHOW(write(ends[1], buffer, 1));
    wait_for(child);
    return 0;
}
