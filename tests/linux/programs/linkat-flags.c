/* call: linkat; covers: links followed or not, descriptors */
#include "check.h"

int main(void)
{
    struct stat status;
    put_file("f", "");
    symlink("f", "link");
    SHOW(linkat(AT_FDCWD, "link", AT_FDCWD, "one", 0));
    lstat("one", &status);
    HOLDS(S_ISLNK(status.st_mode));
    SHOW(linkat(AT_FDCWD, "link", AT_FDCWD, "two", AT_SYMLINK_FOLLOW));
    lstat("two", &status);
    HOLDS(S_ISREG(status.st_mode));
    SHOW(linkat(open("f", O_RDONLY), "", AT_FDCWD, "three", AT_EMPTY_PATH));
    SHOW(linkat(AT_FDCWD, "f", AT_FDCWD, "four", 0x8000));
    SHOW(linkat(99, "f", AT_FDCWD, "five", 0));
    SHOW(linkat(AT_FDCWD, "f", 99, "five", 0));
    return 0;
}
