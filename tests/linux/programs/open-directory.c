/* call: open, fchdir; covers: a directory as a descriptor */
#include "check.h"

int main(void)
{
    char path[PATH_MAX];
    mkdir("d", 0755);
    int fd = open("d", O_RDONLY | O_DIRECTORY);
    SHOW(fd);
    SHOW(fchdir(fd));
    SHOW(open("inside", O_RDWR | O_CREAT, 0644));
    getcwd(path, sizeof path);
    say("%s\n", strrchr(path, '/'));
    SHOW(write(fd, "x", 1));
    SHOW(fchdir(4));
    SHOW(fchdir(99));
    return 0;
}
