/* call: lseek; covers: negative positions, unknown starting points, pipes, sockets */
#include "check.h"

int main(void)
{
    int ends[2];
    put_file("f", "0123456789");
    int fd = open("f", O_RDONLY);
    SHOW(lseek(fd, -1, SEEK_SET));
    SHOW(lseek(fd, -11, SEEK_END));
    SHOW(lseek(fd, -1, SEEK_CUR));
    SHOW(lseek(fd, 0, 9));
    SHOW(lseek(fd, 0, -1));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(lseek(88, 0, SEEK_SET));
    pipe(ends);
    SHOW(lseek(ends[0], 0, SEEK_CUR));
    return 0;
}
