/* call: inotify_add_watch, ioctl; covers: how much of a watcher waits to be read */
#include "check.h"

static void waiting(int fd)
{
    int count = -1;
    SHOW(ioctl(fd, FIONREAD, &count));
    say("%d\n", count);
}

int main(void)
{
    char buffer[500];
    int fd = inotify_init1(IN_NONBLOCK);
    put_file("f", "");
    SHOW(inotify_add_watch(fd, ".", IN_CREATE | IN_DELETE));
    waiting(fd);
    put_file("name", "");
    waiting(fd);
    unlink("name");
    waiting(fd);
    SHOW(read(fd, buffer, sizeof buffer));
    waiting(fd);
    SHOW(isatty(fd));
    return 0;
}
