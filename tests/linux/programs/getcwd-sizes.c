/* call: getcwd; covers: rooms that are too small; also: musl */
#include "check.h"

int main(void)
{
    char path[PATH_MAX];
    mkdir("d", 0755);
    chdir("d");
    long length = syscall(SYS_getcwd, path, sizeof path);
    HOLDS(length == (long)strlen(path) + 1);
    say("%s\n", strrchr(path, '/'));
    SHOW(syscall(SYS_getcwd, path, length - 1));
    SHOW(syscall(SYS_getcwd, path, 0));
    SHOW(syscall(SYS_getcwd, (char *)8, 100));
    HOLDS(syscall(SYS_getcwd, path, length) == length);
    chdir("/");
    SHOW(syscall(SYS_getcwd, path, 2));
    say("%s\n", path);
    return 0;
}
