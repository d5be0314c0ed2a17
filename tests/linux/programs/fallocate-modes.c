/* call: fallocate; covers: allocate, keep the size, punch a hole */
#include "check.h"

int main(void)
{
    struct stat status;
    char buffer[4] = "";
    int fd = open("f", O_RDWR | O_CREAT, 0644);
    SHOW(fallocate(fd, 0, 0, 10000));
    fstat(fd, &status);
    say("size %ld\n", (long)status.st_size);
    SHOW(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 20000));
    fstat(fd, &status);
    say("size %ld\n", (long)status.st_size);
    pwrite(fd, "abcdef", 6, 4094);
    SHOW(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 4096));
    SHOW(pread(fd, buffer, 4, 4094));
    HOLDS(memcmp(buffer, "ab\0\0", 4) == 0);
    return 0;
}
