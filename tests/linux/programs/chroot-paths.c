/* call: chroot, getcwd, readlink, fchdir, openat, rename, link, symlink; covers: links, names and directories in another root, and what was open before */
#include "check.h"

static int before;

static void tell_directory(void)
{
    char path[PATH_MAX];
    long size = syscall(SYS_getcwd, path, sizeof path);
    say("in %.13s\n", size < 0 ? "nothing" : path);
}

static void grandchild(void)
{
    SHOW(access("/sub/x", F_OK));
    SHOW(access("/d", F_OK));
    tell_directory();
}

static void inside(void)
{
    char target[PATH_MAX] = "";
    struct stat one, other;
    SHOW(chroot("d"));
    SHOW(access("d/f", F_OK));
    SHOW(access("/absolute", F_OK));
    SHOW(access("/up", F_OK));
    SHOW(chdir("/sub"));
    tell_directory();
    SHOW(access("../f", F_OK));
    SHOW(access("../../../../f", F_OK));
    put_file("x", "");
    SHOW(rename("/sub/x", "/y"));
    SHOW(link("/y", "x"));
    SHOW(symlink("/y", "/z"));
    SHOW(readlink("/z", target, sizeof target));
    say("%s\n", target);
    SHOW(stat("/", &one));
    SHOW(stat("/../..", &other));
    HOLDS(one.st_ino == other.st_ino);
    in_child(grandchild);
    SHOW(faccessat(before, "d/sub/x", F_OK, 0));
    SHOW(faccessat(before, "f", F_OK, 0));
    SHOW(faccessat(before, "/f", F_OK, 0));
    SHOW(fchdir(before));
    tell_directory();
    SHOW(access("d/y", F_OK));
    SHOW(chroot("."));
    SHOW(access("/d/y", F_OK));
}

int main(void)
{
    mkdir("d", 0755);
    mkdir("d/sub", 0755);
    put_file("d/f", "");
    SHOW(symlink("/f", "d/absolute"));
    SHOW(symlink("../../f", "d/up"));
    before = open(".", O_RDONLY | O_DIRECTORY);
    in_child(inside);
    return 0;
}
