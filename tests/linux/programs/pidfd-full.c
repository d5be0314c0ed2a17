/* call: clone, fork; covers: a child for which there is no descriptor left is not made */
#include "check.h"

int main(void)
{
    int fd = -1, ends[2];
    char byte;
    struct rlimit limit = {8, 8};
    pipe(ends);
    SHOW(setrlimit(RLIMIT_NOFILE, &limit));
    while (dup(0) >= 0)
        ;
    long id = syscall(SYS_clone, 0x1000 | SIGCHLD, 0, &fd, 0, 0);
    if (id == 0) {
        write(ends[1], "x", 1);
        _exit(0);
    }
    HOLDS(id == -1 && errno == EMFILE);
    SHOW(waitpid(-1, NULL, 0));
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    SHOW(read(ends[0], &byte, 1));
    close(3 == ends[0] ? 7 : 3);
    id = syscall(SYS_clone, 0x1000 | SIGCHLD, 0, &fd, 0, 0);
    if (id == 0)
        _exit(9);
    HOLDS(id > 0 && fd > 2);
    wait_for(id);
    return 0;
}
