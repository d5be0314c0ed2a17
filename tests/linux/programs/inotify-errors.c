/* call: inotify_init1, inotify_add_watch, inotify_rm_watch; covers: flags, paths, numbers */
#include "check.h"

int main(void)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    put_file("f", "");
    SHOW(inotify_init1(1));
    SHOW(inotify_add_watch(fd, "missing", IN_MODIFY));
    SHOW(inotify_add_watch(fd, "f", 0));
    SHOW(inotify_add_watch(fd, "f", IN_MODIFY | IN_ONLYDIR));
    SHOW(inotify_add_watch(0, "f", IN_MODIFY));
    SHOW(inotify_add_watch(77, "f", IN_MODIFY));
    SHOW(inotify_rm_watch(fd, 1));
    SHOW(inotify_add_watch(fd, "f", IN_MODIFY));
    SHOW(inotify_add_watch(fd, "f", IN_ATTRIB));
    SHOW(inotify_rm_watch(fd, 1));
    SHOW(inotify_rm_watch(fd, 1));
    return 0;
}
