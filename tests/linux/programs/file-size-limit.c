/* call: setrlimit, write; covers: RLIMIT_FSIZE, SIGXFSZ and EFBIG */
#include "check.h"

static void handler(int number)
{
    say("%s\n", signal_name(number));
}

static void unhandled(void)
{
    int fd = open("g", O_RDWR | O_CREAT, 0644);
    signal(SIGXFSZ, SIG_DFL);
    pwrite(fd, "x", 1, 30000);
}

int main(void)
{
    struct rlimit limit = {20000, RLIM_INFINITY};
    static char buffer[12000];
    int fd = open("f", O_RDWR | O_CREAT, 0644);
    handle(SIGXFSZ, handler, 0);
    SHOW(setrlimit(RLIMIT_FSIZE, &limit));
    SHOW(write(fd, buffer, 12000));
    SHOW(write(fd, buffer, 12000));
    SHOW(write(fd, buffer, 12000));
    SHOW(ftruncate(fd, 20001));
    SHOW(ftruncate(fd, 20000));
    in_child(unhandled);
    return 0;
}
