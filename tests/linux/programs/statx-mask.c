/* call: statx; covers: what is asked and what is told, the empty path */
#include "check.h"

int main(void)
{
    struct statx status;
    put_file("f", "12345");
    int fd = open("f", O_RDONLY);
    SHOW(statx(AT_FDCWD, "f", 0, STATX_BASIC_STATS, &status));
    say("mode %o size %ld links %d\n", status.stx_mode, (long)status.stx_size, status.stx_nlink);
    HOLDS((status.stx_mask & STATX_BASIC_STATS) == STATX_BASIC_STATS);
    SHOW(statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &status));
    HOLDS(status.stx_mask & STATX_SIZE);
    SHOW(statx(AT_FDCWD, "missing", 0, STATX_SIZE, &status));
    SHOW(statx(AT_FDCWD, "f", 0, 0x80000000, &status));
    SHOW(statx(AT_FDCWD, "f", 0x40000, STATX_SIZE, &status));
    SHOW(statx(AT_FDCWD, "f", AT_STATX_FORCE_SYNC | AT_STATX_DONT_SYNC, STATX_SIZE, &status));
    SHOW(statx(77, "", AT_EMPTY_PATH, STATX_SIZE, &status));
    SHOW(statx(AT_FDCWD, "f", 0, STATX_SIZE, (struct statx *)8));
    return 0;
}
