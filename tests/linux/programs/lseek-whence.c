/* call: lseek; covers: the three starting points, beyond the end; also: musl */
#include "check.h"

int main(void)
{
    put_file("f", "0123456789");
    int fd = open("f", O_RDONLY);
    SHOW(lseek(fd, 4, SEEK_SET));
    SHOW(lseek(fd, 3, SEEK_CUR));
    SHOW(lseek(fd, -5, SEEK_CUR));
    SHOW(lseek(fd, -1, SEEK_END));
    SHOW(lseek(fd, 100, SEEK_END));
    SHOW(lseek(fd, 1L << 40, SEEK_SET));
    return 0;
}
