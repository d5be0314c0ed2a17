/* call: fcntl; covers: F_SETLKW waits until the holder ends, and finds deadlocks */
#include "check.h"

static int to_parent[2];

static int lock(int command, int kind, long start)
{
    static int fd = -1;
    struct flock range = {.l_type = kind, .l_whence = SEEK_SET, .l_start = start, .l_len = 1};
    if (fd == -1)
        fd = open("f", O_RDWR);
    return fcntl(fd, command, &range);
}

static void hold(void)
{
    SHOW(lock(F_SETLK, F_WRLCK, 0));
    write(to_parent[1], "x", 1);
    await_step(1);
    nap(30);
    say("the child ends\n");
}

int main(void)
{
    char byte;
    begin_steps();
    put_file("f", "");
    pipe(to_parent);
    pid_t child = make_child(hold);
    read(to_parent[0], &byte, 1);
    SHOW(lock(F_SETLK, F_WRLCK, 0));
    reach_step(1);
    SHOW(lock(F_SETLKW, F_WRLCK, 0));
    wait_for(child);
    return 0;
}
