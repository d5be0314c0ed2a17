/* call: inotify_init1, inotify_add_watch; covers: what happens in a directory */
#include "check.h"

static void events(int fd)
{
    char buffer[2000];
    long size = read(fd, buffer, sizeof buffer);
    for (long at = 0; at < size;) {
        struct inotify_event *event = (void *)(buffer + at);
        say("%d %#x %s %s\n", event->wd, event->mask, event->len ? event->name : "-", event->cookie ? "cookie" : "");
        at += sizeof *event + event->len;
    }
    if (size == -1)
        say("%s\n", error_name(errno));
}

int main(void)
{
    int fd = inotify_init1(IN_NONBLOCK);
    mkdir("d", 0755);
    SHOW(inotify_add_watch(fd, "d", IN_ALL_EVENTS));
    events(fd);
    put_file("d/f", "text");
    events(fd);
    chmod("d/f", 0600);
    rename("d/f", "d/g");
    events(fd);
    mkdir("d/e", 0755);
    unlink("d/g");
    rmdir("d/e");
    events(fd);
    rmdir("d");
    events(fd);
    return 0;
}
