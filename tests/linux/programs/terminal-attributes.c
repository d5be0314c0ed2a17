/* call: chmod, chown, fchmodat, utime, utimensat, access, faccessat, stat; covers: mode, owner and times of a terminal's name */
#include "check.h"
#include <utime.h>

static char path[32];

static void show(const char *name)
{
    struct stat status;
    SHOW(stat(name, &status));
    say("%o %d %d\n", status.st_mode, status.st_uid, status.st_gid);
}

static void as_other(void)
{
    SHOW(setuid(1234));
    SHOW(open(path, O_RDWR | O_NOCTTY));
    SHOW(access(path, R_OK));
    SHOW(chmod(path, 0666));
    SHOW(chown(path, 1234, -1));
    SHOW(utimensat(AT_FDCWD, path, NULL, 0));
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    unlockpt(master);
    char own[32];
    struct stat status;
    ptsname_r(master, own, sizeof own);
    SHOW(stat(own, &status));
    HOLDS(status.st_uid == 1234);
    SHOW(chmod(own, 0600));
    int slave = open(own, O_RDWR | O_NOCTTY);
    HOLDS(slave >= 0);
}

int main(void)
{
    struct stat status;
    char link[32];
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    unlockpt(master);
    ptsname_r(master, path, sizeof path);
    int slave = open(path, O_RDWR | O_NOCTTY), folder = open("/dev/pts", O_RDONLY | O_DIRECTORY);
    snprintf(link, sizeof link, "/proc/self/fd/%d", slave);
    SHOW(chown(path, 7, 8));
    show(path);
    SHOW(chmod(path, 0600));
    show(path);
    SHOW(fchmodat(folder, path + strlen("/dev/pts/"), 0622, 0));
    SHOW(fstat(slave, &status));
    say("%o %d %d\n", status.st_mode, status.st_uid, status.st_gid);
    SHOW(chmod(link, 0640));
    show(link);
    SHOW(fchmod(slave, 0620));
    SHOW(fchown(slave, 9, -1));
    show(path);
    in_child(as_other);
    SHOW(chmod(path, 0666));
    SHOW(access(path, R_OK | W_OK));
    SHOW(faccessat(folder, path + strlen("/dev/pts/"), X_OK, 0));
    SHOW(utime(path, &(struct utimbuf){ 1000, 2000 }));
    SHOW(stat(path, &status));
    say("%ld %ld\n", (long)status.st_atime, (long)status.st_mtime);
    SHOW(futimens(slave, (struct timespec[]){ { 3000, 0 }, { 0, UTIME_OMIT } }));
    SHOW(stat(path, &status));
    say("%ld %ld\n", (long)status.st_atime, (long)status.st_mtime);
    SHOW(chmod("/dev/pts/250", 0600));
    SHOW(chown("/dev/pts/250", 0, 0));
    return 0;
}
