/* call: read, rt_sigaction; covers: a handler's calls do not spoil the interrupted call's result */
#include "check.h"

static int ends[2];

static void handler(int number)
{
    int saved = errno;
    write(-1, "x", 1);
    errno = saved;
    write(ends[1], "abc", 3);
}

int main(void)
{
    char text[4] = "";
    struct itimerval timer = {{0, 0}, {0, 20000}};
    pipe(ends);
    handle(SIGALRM, handler, SA_RESTART);
    setitimer(ITIMER_REAL, &timer, NULL);
    SHOW(read(ends[0], text, 3));
    say("%s\n", text);
    return 0;
}
