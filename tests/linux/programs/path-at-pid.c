/* call: pidfd_getfd, pidfd_open; covers: a descriptor out of another process */
#include "check.h"

static int ends[2];

static void child(void)
{
    char byte;
    close(ends[1]);
    read(ends[0], &byte, 1);
}

int main(void)
{
    pipe(ends);
    int null = open("/dev/null", O_RDONLY);
    pid_t id = make_child(child);
    int fd = syscall(SYS_pidfd_open, id, 0);
    HOLDS(syscall(SYS_pidfd_getfd, fd, null, 0) >= 0);
    SHOW(syscall(SYS_pidfd_getfd, fd, 99, 0));
    SHOW(syscall(SYS_pidfd_getfd, null, null, 0));
    close(ends[1]);
    wait_for(id);
    return 0;
}
