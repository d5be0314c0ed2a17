/* call: pread64, pwrite64; covers: negative offsets, pipes, bad descriptors */
#include "check.h"

int main(void)
{
    char byte;
    int ends[2], fd = open("f", O_RDWR | O_CREAT, 0644);
    SHOW(pread(fd, &byte, 1, -1));
    SHOW(pwrite(fd, &byte, 1, -1));
    SHOW(pread(77, &byte, 1, 0));
    SHOW(pwrite(77, &byte, 1, 0));
    pipe(ends);
    SHOW(pread(ends[0], &byte, 1, 0));
    SHOW(pwrite(ends[1], &byte, 1, 0));
    SHOW(pread(open(".", O_RDONLY), &byte, 1, 0));
    return 0;
}
