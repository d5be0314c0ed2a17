/* call: fadvise64, readahead; covers: advice that is known and unknown, pipes */
#include "check.h"

int main(void)
{
    int ends[2], fd = open("f", O_RDWR | O_CREAT, 0644);
    for (int advice = 0; advice < 7; advice++)
        SHOW(posix_fadvise(fd, 0, 0, advice));
    SHOW(posix_fadvise(fd, 0, -1, 0));
    SHOW(posix_fadvise(77, 0, 0, 0));
    pipe(ends);
    SHOW(posix_fadvise(ends[0], 0, 0, 0));
    SHOW(readahead(77, 0, 10));
    SHOW(readahead(ends[0], 0, 10));
    return 0;
}
