/* call: flock; covers: shared and exclusive locks of descriptions; also: musl */
#include "check.h"

int main(void)
{
    put_file("f", "");
    int one = open("f", O_RDONLY), two = open("f", O_RDONLY), copy = dup(one);
    SHOW(flock(one, LOCK_SH));
    SHOW(flock(two, LOCK_SH | LOCK_NB));
    SHOW(flock(one, LOCK_EX | LOCK_NB));
    SHOW(flock(two, LOCK_UN));
    SHOW(flock(one, LOCK_EX | LOCK_NB));
    SHOW(flock(two, LOCK_SH | LOCK_NB));
    SHOW(flock(copy, LOCK_EX | LOCK_NB));
    SHOW(close(one));
    SHOW(flock(two, LOCK_SH | LOCK_NB));
    SHOW(close(copy));
    SHOW(flock(two, LOCK_SH | LOCK_NB));
    SHOW(flock(two, 99));
    SHOW(flock(77, LOCK_SH));
    return 0;
}
