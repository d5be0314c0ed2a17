/* call: chdir, fchdir; covers: files, missing directories, links; also: musl */
#include "check.h"

int main(void)
{
    char path[PATH_MAX];
    mkdir("d", 0755);
    put_file("f", "");
    symlink("d", "link");
    SHOW(chdir("missing"));
    SHOW(chdir("f"));
    SHOW(chdir("f/.."));
    SHOW(chdir(""));
    SHOW(chdir((char *)8));
    SHOW(chdir("link"));
    getcwd(path, sizeof path);
    say("%s\n", strrchr(path, '/'));
    SHOW(chdir(".."));
    SHOW(fchdir(open("f", O_RDONLY)));
    SHOW(fchdir(77));
    SHOW(fchdir(open("d", O_RDONLY)));
    return 0;
}
