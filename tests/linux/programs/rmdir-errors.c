/* call: rmdir, unlinkat; covers: directories that are not empty, files, links; also: musl */
#include "check.h"

int main(void)
{
    mkdir("d", 0755);
    put_file("d/f", "");
    symlink("d", "link");
    SHOW(rmdir("d"));
    SHOW(rmdir("d/f"));
    SHOW(rmdir("link"));
    SHOW(rmdir("missing"));
    SHOW(rmdir(""));
    SHOW(rmdir("/"));
    SHOW(unlinkat(AT_FDCWD, "d", 0));
    SHOW(unlinkat(AT_FDCWD, "d/f", AT_REMOVEDIR));
    SHOW(unlinkat(open("d", O_RDONLY), "f", 0));
    SHOW(unlinkat(AT_FDCWD, "d", AT_REMOVEDIR));
    SHOW(unlinkat(AT_FDCWD, "link", 1));
    SHOW(unlinkat(99, "link", 0));
    return 0;
}
