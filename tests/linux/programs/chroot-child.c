/* call: chroot; covers: another root, and what `..` finds there */
#include "check.h"

static void inside(void)
{
    char path[PATH_MAX];
    SHOW(chroot("d"));
    SHOW(chdir("/"));
    SHOW(open("f", O_RDONLY));
    SHOW(open("/../../f", O_RDONLY));
    SHOW(open("/tmp", O_RDONLY));
    getcwd(path, sizeof path);
    say("%s\n", path);
}

int main(void)
{
    mkdir("d", 0755);
    put_file("d/f", "");
    SHOW(chroot("missing"));
    SHOW(chroot("d/f"));
    in_child(inside);
    return 0;
}
