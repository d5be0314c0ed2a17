/* call: chown, fchown, lchown, fchownat; covers: numbers, -1, links, set-user bits */
#include "check.h"

static void show(const char *path)
{
    struct stat status;
    lstat(path, &status);
    say("%s: user %d group %d mode %o\n", path, status.st_uid, status.st_gid, status.st_mode);
}

int main(void)
{
    put_file("f", "");
    symlink("f", "link");
    SHOW(chown("f", 12, 34));
    show("f");
    SHOW(chown("f", -1, 56));
    show("f");
    SHOW(lchown("link", 1, 2));
    show("link");
    show("f");
    SHOW(chown("link", 7, -1));
    show("f");
    chmod("f", 06755);
    SHOW(fchown(open("f", O_RDONLY), 8, 9));
    show("f");
    SHOW(fchownat(AT_FDCWD, "link", 3, 4, AT_SYMLINK_NOFOLLOW));
    show("link");
    SHOW(fchownat(open("f", O_RDONLY), "", 5, 6, AT_EMPTY_PATH));
    show("f");
    SHOW(chown("missing", 1, 1));
    SHOW(fchown(77, 1, 1));
    SHOW(fchownat(AT_FDCWD, "f", 1, 1, 1));
    return 0;
}
