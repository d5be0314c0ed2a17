/* call: lseek; covers: SEEK_DATA and SEEK_HOLE at the edges of a file */
#include "check.h"

int main(void)
{
    put_file("f", "0123456789");
    int fd = open("f", O_RDONLY);
    SHOW(lseek(fd, 0, SEEK_DATA));
    SHOW(lseek(fd, 4, SEEK_DATA));
    SHOW(lseek(fd, 0, SEEK_HOLE));
    SHOW(lseek(fd, 10, SEEK_DATA));
    SHOW(lseek(fd, 10, SEEK_HOLE));
    SHOW(lseek(fd, -1, SEEK_DATA));
    return 0;
}
