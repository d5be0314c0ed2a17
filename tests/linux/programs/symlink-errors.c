/* call: symlink, symlinkat; covers: names that are there, empty targets, long targets; also: musl */
#include "check.h"

int main(void)
{
    static char target[4200];
    put_file("f", "");
    SHOW(symlink("f", "link"));
    SHOW(symlink("f", "link"));
    SHOW(symlink("f", "f"));
    SHOW(symlink("", "empty"));
    SHOW(symlink("f", ""));
    SHOW(symlink("f", "missing/link"));
    SHOW(symlink("f", "f/link"));
    memset(target, 'x', 4095);
    SHOW(symlink(target, "long"));
    memset(target, 'x', 4096);
    SHOW(symlink(target, "longer"));
    SHOW(symlinkat("f", open(".", O_RDONLY), "at"));
    SHOW(symlinkat("f", 99, "at"));
    return 0;
}
