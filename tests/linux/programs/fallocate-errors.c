/* call: fallocate; covers: sizes, modes and kinds of files that are refused */
#include "check.h"

int main(void)
{
    int ends[2], fd = open("f", O_RDWR | O_CREAT, 0644);
    SHOW(fallocate(fd, 0, 0, 0));
    SHOW(fallocate(fd, 0, -1, 10));
    SHOW(fallocate(fd, 0, 0, -10));
    SHOW(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, 10));
    SHOW(fallocate(open("f", O_RDONLY), 0, 0, 10));
    SHOW(fallocate(99, 0, 0, 10));
    pipe(ends);
    SHOW(fallocate(ends[1], 0, 0, 10));
    SHOW(fallocate(open(".", O_RDONLY), 0, 0, 10));
    return 0;
}
