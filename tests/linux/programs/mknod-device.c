/* call: mknod, open; covers: a node for the null device */
#include "check.h"

int main(void)
{
    char byte;
    struct stat status;
    SHOW(mknod("null", S_IFCHR | 0666, 0x103));
    SHOW(stat("null", &status));
    say("%o %#lx\n", status.st_mode, (long)status.st_rdev);
    int fd = open("null", O_RDWR);
    SHOW(write(fd, "x", 1));
    SHOW(read(fd, &byte, 1));
    return 0;
}
