/* call: pread64, pwrite64; covers: the position stays; also: musl */
#include "check.h"

int main(void)
{
    char buffer[8] = "";
    int fd = open("f", O_RDWR | O_CREAT, 0644);
    SHOW(write(fd, "0123456789", 10));
    SHOW(pread(fd, buffer, 4, 3));
    say("%s\n", buffer);
    SHOW(pread(fd, buffer, 4, 8));
    SHOW(pread(fd, buffer, 4, 10));
    SHOW(pread(fd, buffer, 4, 1000));
    SHOW(pwrite(fd, "xy", 2, 12));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(lseek(fd, 0, SEEK_END));
    return 0;
}
