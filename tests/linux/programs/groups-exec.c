/* call: setpgid, execve; covers: a child that has called exec cannot be moved */
#include "check.h"

static int ends[2];

int main(int count, char **words)
{
    char byte;
    if (count > 1) {
        write(4, "x", 1);
        nap(50);
        return 0;
    }
    pipe(ends);
    pid_t child = fork();
    if (child == 0) {
        again("again");
        _exit(1);
    }
    read(ends[0], &byte, 1);
    SHOW(setpgid(child, child));
    wait_for(child);
    return 0;
}
