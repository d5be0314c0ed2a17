/* call: mkdir, mkdirat; covers: modes, the umask, set-group directories, errors; also: musl dynamic */
#include "check.h"

static void show(const char *path)
{
    struct stat status;
    if (stat(path, &status) == -1)
        say("%s: %s\n", path, error_name(errno));
    else
        say("%s: %o links %ld\n", path, status.st_mode, (long)status.st_nlink);
}

int main(void)
{
    SHOW(mkdir("d", 0777));
    show("d");
    SHOW(mkdir("t", 01777));
    show("t");
    SHOW(mkdir("d/e", 0700));
    show("d");
    SHOW(mkdir("d", 0777));
    SHOW(mkdir("missing/e", 0777));
    put_file("f", "");
    SHOW(mkdir("f", 0777));
    SHOW(mkdir("f/e", 0777));
    symlink("nowhere", "dangling");
    SHOW(mkdir("dangling", 0777));
    SHOW(mkdir("", 0777));
    int fd = open("d", O_RDONLY);
    SHOW(mkdirat(fd, "at", 0755));
    show("d/at");
    SHOW(mkdirat(99, "at", 0755));
    return 0;
}
