/* call: poll, ppoll; covers: how long they wait; errors; also: musl */
#include "check.h"

int main(void)
{
    int ends[2];
    pipe(ends);
    struct pollfd fd = {ends[0], POLLIN, 0};
    struct timespec wait = {0, 30000000}, wrong = {0, 1000000000};
    long start = now();
    SHOW(poll(&fd, 1, 30));
    HOLDS(now() - start >= 29);
    start = now();
    SHOW(ppoll(&fd, 1, &wait, NULL));
    HOLDS(now() - start >= 29);
    SHOW(poll(NULL, 0, 1));
    SHOW(ppoll(&fd, 1, &wrong, NULL));
    SHOW(poll((void *)8, 1, 0));
    struct rlimit limit = {4, 100};
    setrlimit(RLIMIT_NOFILE, &limit);
    struct pollfd many[5] = {{-1, 0, 0}};
    SHOW(poll(many, 5, 0));
    return 0;
}
