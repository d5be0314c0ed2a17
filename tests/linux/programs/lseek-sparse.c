/* call: lseek; covers: SEEK_DATA and SEEK_HOLE find a hole of many pages */
#include "check.h"

int main(void)
{
    int fd = open("f", O_RDWR | O_CREAT, 0644);
    pwrite(fd, "x", 1, 0);
    pwrite(fd, "y", 1, 40 * 4096);
    SHOW(lseek(fd, 0, SEEK_HOLE) < 40 * 4096);
    SHOW(lseek(fd, 20 * 4096, SEEK_DATA));
    SHOW(lseek(fd, 20 * 4096, SEEK_HOLE));
    return 0;
}
