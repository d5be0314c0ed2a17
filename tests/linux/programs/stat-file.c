/* call: stat; covers: kind, mode, links, size, owner of a file; also: musl dynamic */
#include "check.h"

int main(void)
{
    struct stat status;
    put_file("f", "12345");
    SHOW(stat("f", &status));
    say("mode %o links %ld size %ld user %d group %d\n", status.st_mode, (long)status.st_nlink, (long)status.st_size, status.st_uid, status.st_gid);
    SHOW(status.st_blksize >= 512);
    long inode = status.st_ino;
    mkdir("d", 0700);
    SHOW(stat("d", &status));
    say("mode %o\n", status.st_mode);
    HOLDS((long)status.st_ino != inode);
    rename("f", "d/g");
    stat("d/g", &status);
    HOLDS((long)status.st_ino == inode);
    return 0;
}
