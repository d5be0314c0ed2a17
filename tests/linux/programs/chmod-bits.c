/* call: chmod, fchmod; covers: all bits, and what a write takes away; also: musl */
#include "check.h"

static void show(void)
{
    struct stat status;
    stat("f", &status);
    say("%o\n", status.st_mode);
}

int main(void)
{
    int fd = open("f", O_RDWR | O_CREAT, 0644);
    SHOW(chmod("f", 07777));
    show();
    SHOW(chmod("f", 0));
    show();
    SHOW(fchmod(fd, 0170644));
    show();
    SHOW(chmod("missing", 0644));
    SHOW(fchmod(77, 0644));
    SHOW(chmod("f/x", 0644));
    mkdir("d", 0755);
    SHOW(chmod("d", 01777));
    struct stat status;
    stat("d", &status);
    say("%o\n", status.st_mode);
    return 0;
}
