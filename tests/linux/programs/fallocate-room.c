/* call: fallocate; covers: room that is taken, before and behind the end, and what reads of it */
#include "check.h"

static long blocks(int fd)
{
    struct stat status;
    return fstat(fd, &status) ? -1 : (long)status.st_blocks;
}

int main(void)
{
    char buffer[4] = "abc";
    int fd = open("f", O_RDWR | O_CREAT, 0644);
    SHOW(ftruncate(fd, 1 << 20));
    HOLDS(blocks(fd) == 0);
    SHOW(fallocate(fd, 0, 4096, 40960));
    HOLDS(blocks(fd) >= 80 && blocks(fd) < 200);
    SHOW(pread(fd, buffer, 4, 8192));
    HOLDS(memcmp(buffer, "\0\0\0\0", 4) == 0);
    SHOW(fallocate(fd, FALLOC_FL_KEEP_SIZE, 1 << 20, 409600));
    HOLDS(blocks(fd) >= 880 && blocks(fd) < 1000);
    SHOW(lseek(fd, 0, SEEK_END));
    SHOW(posix_fallocate(fd, 2 << 20, 1));
    SHOW(lseek(fd, 0, SEEK_END));
    SHOW(ftruncate(fd, 100));
    HOLDS(blocks(fd) < 100);
    return 0;
}
