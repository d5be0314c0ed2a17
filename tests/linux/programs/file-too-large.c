/* call: lseek, write, ftruncate; covers: positions beyond what a file can have */
#include "check.h"

int main(void)
{
    int fd = open("f", O_RDWR | O_CREAT, 0644);
    SHOW(lseek(fd, INT64_MAX, SEEK_SET) == INT64_MAX || errno == EINVAL);
    SHOW(pwrite(fd, "x", 1, INT64_MAX) == -1 && (errno == EFBIG || errno == EINVAL));
    SHOW(pread(fd, &fd, 1, INT64_MAX) <= 0);
    return 0;
}
