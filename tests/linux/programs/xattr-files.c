/* call: lsetxattr, lgetxattr, llistxattr, lremovexattr, fsetxattr, fgetxattr, flistxattr, fremovexattr; covers: attributes of links, directories, FIFOs, open files, and what has none; names that go with the file */
#include "check.h"

#include <sys/xattr.h>

static char value[100];

int main(void)
{
    put_file("f", "");
    symlink("f", "l"), mkdir("d", 0755), mkfifo("p", 0644);
    SHOW(setxattr("l", "trusted.a", "file", 4, 0));
    SHOW(lsetxattr("l", "trusted.a", "link!", 5, 0));
    SHOW(getxattr("f", "trusted.a", value, sizeof value));
    SHOW(getxattr("l", "trusted.a", value, sizeof value));
    SHOW(lgetxattr("l", "trusted.a", value, sizeof value));
    SHOW(lsetxattr("l", "user.a", "x", 1, 0));
    SHOW(lgetxattr("l", "user.a", value, sizeof value));
    SHOW(llistxattr("l", value, sizeof value));
    SHOW(lremovexattr("l", "trusted.a"));
    SHOW(llistxattr("l", value, sizeof value));
    SHOW(listxattr("l", value, sizeof value));
    SHOW(setxattr("d", "trusted.of.directory", "1", 1, 0));
    SHOW(getxattr("d", "trusted.of.directory", value, sizeof value));
    SHOW(setxattr("p", "user.a", "1", 1, 0));
    SHOW(getxattr("p", "user.a", value, sizeof value));
    int file = open("f", O_RDONLY), place = open("f", O_PATH), ends[2];
    SHOW(fsetxattr(file, "trusted.b", "12", 2, 0));
    SHOW(fgetxattr(file, "trusted.b", value, sizeof value));
    SHOW(flistxattr(file, value, sizeof value));
    SHOW(fgetxattr(place, "trusted.b", value, sizeof value));
    SHOW(fsetxattr(77, "trusted.b", "", 0, 0));
    SHOW(flistxattr(77, value, sizeof value));
    SHOW(link("f", "same"));
    SHOW(rename("f", "g"));
    SHOW(getxattr("same", "trusted.b", value, sizeof value));
    SHOW(unlink("g"));
    SHOW(fgetxattr(file, "trusted.b", value, sizeof value));
    SHOW(fremovexattr(file, "trusted.b"));
    SHOW(fremovexattr(file, "trusted.b"));
    SHOW(pipe(ends));
    SHOW(fsetxattr(ends[0], "trusted.a", "", 0, 0));
    SHOW(fgetxattr(ends[0], "trusted.a", value, sizeof value));
    SHOW(getxattr("/proc/self/status", "trusted.a", value, sizeof value));
    SHOW(listxattr("/proc/self/status", value, sizeof value));
    return 0;
}
