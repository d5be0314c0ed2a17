/* call: read, poll; covers: a process that waits for very many pipes, one after the other; also: musl dynamic */
#include "check.h"

enum { PIPES = 150 };

static void ignored(int number)
{
    (void)number;
}

int main(void)
{
    int done = 0;
    handle(SIGINT, ignored, 0);
    for (int round = 0; round < PIPES; round++) {
        int ends[2];
        char byte = 0;
        if (pipe2(ends, O_CLOEXEC) != 0)
            break;
        pid_t child = vfork();
        if (child == 0) {
            execl("/nonexistent", "x", (char *)NULL);
            _exit(write(ends[1], "x", 1) != 1);
        }
        close(ends[1]);
        struct pollfd entry = { .fd = ends[0], .events = POLLIN };
        if (round % 2)
            poll(&entry, 1, -1);
        while (read(ends[0], &byte, 1) == 1)
            ;
        close(ends[0]);
        int status = 1;
        waitpid(child, &status, 0);
        done += byte == 'x' && status == 0;
    }
    say("%d of %d\n", done, PIPES);
    return 0;
}
