/* call: write; covers: O_APPEND, and where it leaves the position; also: musl dynamic */
#include "check.h"

int main(void)
{
    put_file("f", "one");
    int fd = open("f", O_RDWR | O_APPEND);
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(write(fd, "two", 3));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(lseek(fd, 1, SEEK_SET));
    SHOW(write(fd, "three", 5));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(pwrite(fd, "four", 4, 0));
    show_file("f");
    return 0;
}
