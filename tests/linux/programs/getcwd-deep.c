/* call: getcwd; covers: directories that lie deeper than a path is long, what still works there */
#include "check.h"

static char name[201];

/* Goes down until the path has so many bytes, or a few more. */
static void go_down(int bytes)
{
    char path[PATH_MAX];
    long length;
    while ((length = syscall(SYS_getcwd, path, sizeof path)) > 0 && length < bytes) {
        mkdir(name, 0755);
        chdir(name);
    }
}

static void in_child_of_it(void)
{
    char path[PATH_MAX];
    SHOW(syscall(SYS_getcwd, path, sizeof path));
    show_file("file");
}

int main(void)
{
    char path[2 * PATH_MAX];
    memset(name, 'd', sizeof name - 1);
    go_down(3895);
    long length = syscall(SYS_getcwd, path, sizeof path);
    /* One that just fits, with its zero. */
    memset(name, 'e', sizeof name - 1);
    name[PATH_MAX - length - 1] = 0;
    SHOW(mkdir(name, 0755));
    SHOW(chdir(name));
    SHOW(syscall(SYS_getcwd, path, sizeof path));
    SHOW(syscall(SYS_getcwd, path, PATH_MAX - 1));
    SHOW(chdir(".."));
    strcat(name, "e");
    SHOW(mkdir(name, 0755));
    SHOW(chdir(name));
    SHOW(syscall(SYS_getcwd, path, sizeof path));
    SHOW(syscall(SYS_getcwd, path, 10));
    SHOW(mkdir("deeper", 0755));
    SHOW(chdir("deeper"));
    SHOW(syscall(SYS_getcwd, path, sizeof path));
    put_file("file", "text");
    in_child(in_child_of_it);
    SHOW(access("../deeper/file", R_OK));
    SHOW(chdir("../.."));
    HOLDS(syscall(SYS_getcwd, path, sizeof path) == length);
    return 0;
}
