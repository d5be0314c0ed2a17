/* call: link, unlink, stat; covers: names of one file; also: musl */
#include "check.h"

static void links(const char *path)
{
    struct stat status;
    if (stat(path, &status) == -1)
        say("%s: %s\n", path, error_name(errno));
    else
        say("%s: %ld\n", path, (long)status.st_nlink);
}

int main(void)
{
    put_file("a", "text");
    SHOW(link("a", "b"));
    links("a");
    put_file("b", "other");
    show_file("a");
    SHOW(unlink("a"));
    links("b");
    links("a");
    SHOW(link("b", "b"));
    SHOW(link("missing", "c"));
    mkdir("d", 0755);
    SHOW(link("d", "e"));
    SHOW(link("b", "d"));
    SHOW(link("b", "d/b"));
    SHOW(link("b", "missing/b"));
    symlink("b", "s");
    SHOW(link("s", "t"));
    links("b");
    return 0;
}
