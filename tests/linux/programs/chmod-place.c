/* call: chmod; covers: files that are named by a descriptor with O_PATH, as fchmodat of the C library does */
#include "check.h"

static char name[64];

static const char *place(const char *path)
{
    int fd = open(path, O_PATH | O_NOFOLLOW);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return name;
}

int main(void)
{
    struct stat status;
    struct timespec times[2] = {{100, 0}, {200, 0}};
    const char *paths[] = {"f", "d", "p"};
    put_file("f", "text");
    mkdir("d", 0755);
    mkfifo("p", 0644);
    for (int i = 0; i < 3; i++) {
        SHOW(chmod(place(paths[i]), 0610));
        SHOW(fchmodat(AT_FDCWD, paths[i], 0620, AT_SYMLINK_NOFOLLOW));
        SHOW(chown(place(paths[i]), -1, -1));
        SHOW(utimensat(AT_FDCWD, place(paths[i]), times, 0));
        stat(paths[i], &status);
        say("%o %ld\n", status.st_mode & 07777, (long)status.st_mtime);
    }
    int fd = open("d", O_PATH);
    SHOW(fchmod(fd, 0700));
    SHOW(fchown(fd, -1, -1));
    SHOW(futimens(fd, times));
    symlink("f", "link");
    SHOW(fchmodat(AT_FDCWD, "link", 0600, AT_SYMLINK_NOFOLLOW));
    return 0;
}
