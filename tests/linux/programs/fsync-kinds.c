/* call: fsync, fdatasync, sync, syncfs; covers: files, directories, pipes, bad descriptors; also: musl */
#include "check.h"

int main(void)
{
    int ends[2];
    int fd = open("f", O_RDWR | O_CREAT, 0644);
    pipe(ends);
    SHOW(fsync(fd));
    SHOW(fdatasync(fd));
    SHOW(fsync(open(".", O_RDONLY)));
    SHOW(fsync(ends[0]));
    SHOW(fdatasync(ends[1]));
    SHOW(fsync(77));
    SHOW(fdatasync(77));
    SHOW(syncfs(fd));
    SHOW(syncfs(77));
    sync();
    return 0;
}
