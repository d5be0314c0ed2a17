/* call: lstat, stat; covers: the link itself, and what it leads to; also: musl */
#include "check.h"

int main(void)
{
    struct stat status;
    put_file("f", "12345");
    symlink("f", "link");
    symlink("missing", "dangling");
    SHOW(lstat("link", &status));
    say("mode %o size %ld\n", status.st_mode, (long)status.st_size);
    SHOW(stat("link", &status));
    say("mode %o size %ld\n", status.st_mode, (long)status.st_size);
    SHOW(lstat("dangling", &status));
    SHOW(stat("dangling", &status));
    return 0;
}
