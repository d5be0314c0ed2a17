/* call: ftruncate; covers: larger and smaller, and the position; also: musl */
#include "check.h"

int main(void)
{
    char buffer[8];
    struct stat status;
    int fd = open("f", O_RDWR | O_CREAT, 0644);
    SHOW(write(fd, "abcdef", 6));
    SHOW(ftruncate(fd, 3));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(ftruncate(fd, 5000));
    SHOW(pread(fd, buffer, 6, 0));
    HOLDS(memcmp(buffer, "abc\0\0\0", 6) == 0);
    fstat(fd, &status);
    say("size %ld\n", (long)status.st_size);
    SHOW(ftruncate(fd, 0));
    SHOW(write(fd, "z", 1));
    fstat(fd, &status);
    say("size %ld\n", (long)status.st_size);
    return 0;
}
