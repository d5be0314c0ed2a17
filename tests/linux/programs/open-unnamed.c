/* call: open; covers: O_TMPFILE, and a name given later */
#include "check.h"

int main(void)
{
    struct stat status;
    char path[40];
    int fd = open(".", O_RDWR | O_TMPFILE, 0600);
    SHOW(fd);
    SHOW(write(fd, "text", 4));
    SHOW(fstat(fd, &status));
    say("links %ld mode %o\n", (long)status.st_nlink, status.st_mode);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    SHOW(linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
    show_file("named");
    SHOW(open(".", O_RDONLY | O_TMPFILE, 0600));
    return 0;
}
