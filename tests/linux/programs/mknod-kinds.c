/* call: mknod, mknodat; covers: fifos, files, sockets, errors */
#include "check.h"

static void kind(const char *path)
{
    struct stat status;
    if (lstat(path, &status) == -1)
        say("%s: %s\n", path, error_name(errno));
    else
        say("%s: %o\n", path, status.st_mode);
}

int main(void)
{
    SHOW(mknod("fifo", S_IFIFO | 0666, 0));
    kind("fifo");
    SHOW(mknod("file", S_IFREG | 0600, 0));
    kind("file");
    SHOW(mknod("plain", 0600, 0));
    kind("plain");
    SHOW(mknod("socket", S_IFSOCK | 0600, 0));
    kind("socket");
    SHOW(mknod("directory", S_IFDIR | 0600, 0));
    SHOW(mknod("file", S_IFREG | 0600, 0));
    SHOW(mknodat(open(".", O_RDONLY), "at", S_IFIFO | 0600, 0));
    kind("at");
    SHOW(open("socket", O_RDONLY));
    return 0;
}
