/* call: rename, renameat; covers: a directory that is in use moves */
#include "check.h"

int main(void)
{
    char path[PATH_MAX];
    mkdir("a", 0755);
    mkdir("a/b", 0755);
    mkdir("c", 0755);
    int old = open("a", O_RDONLY), new = open("c", O_RDONLY);
    chdir("a/b");
    SHOW(renameat(old, "b", new, "moved"));
    getcwd(path, sizeof path);
    say("%s\n", strstr(path, "/c/"));
    SHOW(access("../../c/moved", F_OK));
    SHOW(renameat(99, "b", new, "x"));
    SHOW(renameat(old, "b", 99, "x"));
    return 0;
}
