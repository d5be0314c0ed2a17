/* call: fstat; covers: pipes, sockets, directories, devices, removed files */
#include "check.h"

static void kind(const char *what, int fd)
{
    struct stat status;
    if (fstat(fd, &status) == -1)
        say("%s: %s\n", what, error_name(errno));
    else
        say("%s: %o\n", what, status.st_mode & S_IFMT);
}

int main(void)
{
    int ends[2], pair[2];
    struct stat status;
    pipe(ends);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    kind("pipe", ends[0]);
    kind("socket", pair[0]);
    kind("directory", open(".", O_RDONLY));
    kind("device", open("/dev/null", O_RDONLY));
    int fd = open("f", O_RDWR | O_CREAT, 0644);
    kind("file", fd);
    unlink("f");
    fstat(fd, &status);
    say("links %ld\n", (long)status.st_nlink);
    return 0;
}
