/* call: flock; covers: a lock that a child shares and gives back by its end */
#include "check.h"

static int fd;

static void try_lock(void)
{
    int other = open("f", O_RDONLY);
    SHOW(flock(other, LOCK_EX | LOCK_NB));
    SHOW(flock(fd, LOCK_EX | LOCK_NB));
}

static void hold(void)
{
    int own = open("f", O_RDONLY);
    SHOW(flock(own, LOCK_EX));
}

int main(void)
{
    put_file("f", "");
    fd = open("f", O_RDONLY);
    SHOW(flock(fd, LOCK_EX));
    in_child(try_lock);
    SHOW(flock(fd, LOCK_UN));
    in_child(hold);
    SHOW(flock(fd, LOCK_EX | LOCK_NB));
    return 0;
}
