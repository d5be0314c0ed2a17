/* call: setrlimit, open, dup, pipe; covers: RLIMIT_NOFILE gives EMFILE; also: musl */
#include "check.h"

int main(void)
{
    struct rlimit limit = {8, 8};
    int ends[2];
    SHOW(setrlimit(RLIMIT_NOFILE, &limit));
    for (int count = 0; count < 5; count++)
        SHOW(open("/dev/null", O_RDONLY));
    SHOW(open("/dev/null", O_RDONLY));
    SHOW(dup(0));
    SHOW(dup2(0, 8));
    SHOW(dup2(0, 7));
    SHOW(pipe(ends));
    SHOW(fcntl(0, F_DUPFD, 8));
    SHOW(fcntl(0, F_DUPFD, 3));
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    SHOW(close(7));
    SHOW(pipe(ends));
    SHOW(open("/dev/null", O_RDONLY));
    return 0;
}
