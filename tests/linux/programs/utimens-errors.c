/* call: utimensat; covers: bad nanoseconds, missing files, flags */
#include "check.h"

int main(void)
{
    struct timespec times[2] = {{1, 1000000000}, {1, 1}};
    put_file("f", "");
    symlink("missing", "dangling");
    SHOW(utimensat(AT_FDCWD, "f", times, 0));
    times[0].tv_nsec = 0;
    SHOW(utimensat(AT_FDCWD, "missing", times, 0));
    SHOW(utimensat(AT_FDCWD, "dangling", times, 0));
    SHOW(utimensat(AT_FDCWD, "dangling", times, AT_SYMLINK_NOFOLLOW));
    SHOW(utimensat(77, "f", times, 0));
    SHOW(utimensat(AT_FDCWD, "f", times, 1));
    SHOW(utimensat(AT_FDCWD, "f", (struct timespec *)8, 0));
    SHOW(futimens(77, times));
    return 0;
}
