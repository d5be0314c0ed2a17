/* call: rmdir, getcwd, chdir; covers: the current directory removed */
#include "check.h"

int main(void)
{
    char path[PATH_MAX];
    struct stat status;
    mkdir("d", 0755);
    chdir("d");
    SHOW(rmdir("../d"));
    SHOW(getcwd(path, sizeof path) == NULL);
    SHOW(open("f", O_RDWR | O_CREAT, 0644));
    SHOW(stat(".", &status));
    say("links %ld\n", (long)status.st_nlink);
    SHOW(mkdir("e", 0755));
    SHOW(chdir(".."));
    SHOW(access("d", F_OK));
    return 0;
}
