/* call: inotify_add_watch, poll; covers: a file watched: written, once, removed */
#include "check.h"

int main(void)
{
    char buffer[500];
    int fd = inotify_init1(IN_NONBLOCK);
    put_file("f", "");
    struct pollfd poller = {fd, POLLIN, 0};
    SHOW(inotify_add_watch(fd, "f", IN_MODIFY | IN_ONESHOT));
    SHOW(poll(&poller, 1, 0));
    put_file("f", "text");
    SHOW(poll(&poller, 1, 0));
    for (long size = read(fd, buffer, sizeof buffer), at = 0; at < size; at += sizeof(struct inotify_event))
        say("%#x\n", ((struct inotify_event *)(buffer + at))->mask);
    SHOW(inotify_add_watch(fd, "f", IN_DELETE_SELF | IN_ATTRIB));
    unlink("f");
    for (long size = read(fd, buffer, sizeof buffer), at = 0; at < size; at += sizeof(struct inotify_event))
        say("%#x\n", ((struct inotify_event *)(buffer + at))->mask);
    return 0;
}
