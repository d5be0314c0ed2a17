/* call: open; covers: O_PATH descriptors name and do no more */
#include "check.h"

int main(void)
{
    char byte;
    struct stat status;
    put_file("f", "text");
    symlink("f", "link");
    int fd = open("f", O_PATH), directory = open(".", O_PATH), link = open("link", O_PATH | O_NOFOLLOW);
    SHOW(read(fd, &byte, 1));
    SHOW(write(fd, "x", 1));
    SHOW(fstat(fd, &status));
    say("size %ld\n", (long)status.st_size);
    SHOW(fchmod(fd, 0600));
    SHOW(lseek(fd, 0, SEEK_SET));
    SHOW(openat(directory, "f", O_RDONLY));
    SHOW(fcntl(fd, F_GETFL) == O_PATH || fcntl(fd, F_GETFL) == (O_PATH | 0100000));
    SHOW(fstat(link, &status));
    HOLDS(S_ISLNK(status.st_mode));
    SHOW(dup(fd));
    SHOW(ioctl(fd, FIONREAD, &byte));
    SHOW(close(fd));
    return 0;
}
