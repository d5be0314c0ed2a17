/* call: open, stat; covers: links to directories on the way, relative and absolute */
#include "check.h"

int main(void)
{
    char path[PATH_MAX];
    mkdir("a", 0755);
    mkdir("a/b", 0755);
    put_file("a/f", "found");
    symlink("a/b", "short");
    symlink("..", "a/b/up");
    show_file("short/../f");
    show_file("short/up/f");
    show_file("a/b/up/b/up/f");
    getcwd(path, sizeof path);
    symlink(path, "absolute");
    show_file("absolute/a/f");
    symlink("/", "root");
    SHOW(access("root/dev/null", F_OK));
    return 0;
}
