/* call: sync_file_range; covers: flags, ranges, bad descriptors */
#include "check.h"

int main(void)
{
    int ends[2], fd = open("f", O_RDWR | O_CREAT, 0644);
    pipe(ends);
    SHOW(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE));
    SHOW(sync_file_range(fd, -1, 0, SYNC_FILE_RANGE_WRITE));
    SHOW(sync_file_range(fd, 0, 0, 64));
    SHOW(sync_file_range(ends[0], 0, 0, 0));
    SHOW(sync_file_range(77, 0, 0, 0));
    return 0;
}
