/* call: mount, umount2; covers: a file system in memory on a directory */
#include "check.h"

#include <sys/mount.h>

int main(void)
{
    mkdir("d", 0755);
    put_file("d/below", "");
    SHOW(mount("none", "d", "tmpfs", 0, ""));
    SHOW(access("d/below", F_OK));
    put_file("d/above", "");
    SHOW(rename("d/above", "above"));
    SHOW(rmdir("d"));
    SHOW(umount("d"));
    SHOW(access("d/below", F_OK));
    SHOW(umount("d"));
    SHOW(mount("none", "d", "nonsense", 0, ""));
    return 0;
}
