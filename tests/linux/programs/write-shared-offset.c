/* call: write, dup; covers: descriptors that share a position, and those that do not */
#include "check.h"

int main(void)
{
    int fd = open("f", O_RDWR | O_CREAT, 0644), copy = dup(fd), other = open("f", O_RDWR);
    SHOW(write(fd, "abc", 3));
    SHOW(write(copy, "def", 3));
    SHOW(write(other, "X", 1));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(lseek(other, 0, SEEK_CUR));
    show_file("f");
    return 0;
}
