/* call: newfstatat; covers: relative paths, the empty path, links */
#include "check.h"

int main(void)
{
    struct stat status;
    mkdir("d", 0755);
    put_file("d/f", "123");
    symlink("f", "d/link");
    int directory = open("d", O_RDONLY), file = open("d/f", O_RDONLY);
    SHOW(fstatat(directory, "f", &status, 0));
    SHOW(fstatat(directory, "link", &status, AT_SYMLINK_NOFOLLOW));
    HOLDS(S_ISLNK(status.st_mode));
    SHOW(fstatat(directory, "link", &status, 0));
    HOLDS(S_ISREG(status.st_mode));
    SHOW(fstatat(file, "", &status, AT_EMPTY_PATH));
    say("size %ld\n", (long)status.st_size);
    SHOW(fstatat(file, "", &status, 0));
    SHOW(fstatat(file, "x", &status, 0));
    SHOW(fstatat(99, "f", &status, 0));
    SHOW(fstatat(directory, "f", &status, 0x40000));
    return 0;
}
