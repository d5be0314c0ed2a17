/* call: writev, pwritev; covers: pieces of all sizes, and a file that grows; also: musl */
#include "check.h"

int main(void)
{
    struct iovec pieces[] = {{"ab", 2}, {"", 0}, {"cdef", 4}, {"g", 1}};
    int fd = open("f", O_RDWR | O_CREAT, 0644);
    SHOW(writev(fd, pieces, 4));
    SHOW(writev(fd, pieces, 0));
    SHOW(pwritev(fd, pieces, 4, 3));
    SHOW(lseek(fd, 0, SEEK_CUR));
    show_file("f");
    SHOW(pwritev(fd, pieces, 4, -1));
    SHOW(preadv(fd, pieces, 0, -1));
    return 0;
}
