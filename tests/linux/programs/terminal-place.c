/* call: open, openat, fchmod, readlink; covers: O_PATH of a terminal, and opening it by a name in /proc/self/fd */
#include "check.h"

int main(void)
{
    char path[32], link[32], target[32] = "";
    struct stat status;
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    unlockpt(master);
    ptsname_r(master, path, sizeof path);
    int place = open(path, O_PATH);
    HOLDS(place >= 0);
    SHOW(fstat(place, &status));
    say("%o\n", status.st_mode);
    SHOW(write(place, "x", 1));
    SHOW(fchmod(place, 0600));
    SHOW(isatty(place));
    snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    HOLDS(readlink(link, target, sizeof target) == (ssize_t)strlen(path) && strcmp(target, path) == 0);
    SHOW(chmod(link, 0600));
    SHOW(stat(link, &status));
    say("%o\n", status.st_mode);
    int slave = open(link, O_RDWR | O_NOCTTY);
    HOLDS(slave >= 0);
    SHOW(isatty(slave));
    SHOW(write(slave, "y", 1));
    int reader = open(path, O_RDONLY | O_NOCTTY);
    snprintf(link, sizeof link, "/proc/self/fd/%d", reader);
    int writer = open(link, O_WRONLY | O_NOCTTY);
    SHOW(write(writer, "z", 1));
    SHOW(read(master, target, sizeof target));
    say("%.2s\n", target);
    SHOW(open("/dev/pts/250", O_PATH));
    SHOW(open(link, O_RDWR | O_CREAT | O_EXCL, 0600));
    return 0;
}
