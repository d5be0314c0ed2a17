/* call: mkdir, mkdirat, open, mknod, symlink; covers: the group of what is made in a set-group-ID directory, modes that set IDs; also: musl */
#include "check.h"
#include <grp.h>

static void show(const char *path)
{
    struct stat status;
    if (lstat(path, &status) == -1)
        say("%s: %s\n", path, error_name(errno));
    else
        say("%s: %o of %u %u\n", path, status.st_mode, status.st_uid, status.st_gid);
}

/* Makes one of each kind in a directory. */
static void make(const char *directory)
{
    static const char *const names[] = { "inner", "inner/deeper", "file", "user", "group", "both", "node", "fifo", "link" };
    char path[100];
    if (chdir(directory) == -1)
        say("%s\n", error_name(errno));
    SHOW(mkdir("inner", 02755));
    SHOW(mkdirat(AT_FDCWD, "inner/deeper", 0700));
    close(open("file", O_CREAT | O_EXCL | O_WRONLY, 0640));
    close(open("user", O_CREAT | O_WRONLY, 04755));
    close(open("group", O_CREAT | O_WRONLY, 02755));
    close(open("both", O_CREAT | O_WRONLY, 06744));
    SHOW(mknod("node", S_IFREG | 06711, 0));
    SHOW(mkfifo("fifo", 0600));
    SHOW(symlink("x", "link"));
    for (size_t at = 0; at < sizeof names / sizeof *names; at++)
        show(names[at]);
    int unnamed = open(".", O_TMPFILE | O_RDWR, 04700);
    struct stat status;
    if (unnamed != -1 && fstat(unnamed, &status) == 0)
        say("unnamed: %o of %u %u\n", status.st_mode & 07777, status.st_uid, status.st_gid);
    snprintf(path, sizeof path, "%s", "..");
    SHOW(chdir(path));
}

static void member(void)
{
    gid_t groups[] = { 300 };
    SHOW(setgroups(1, groups));
    SHOW(setresgid(200, 200, 200));
    SHOW(setresuid(100, 100, 100));
    make("of-member");
    make("plain");
}

static void stranger(void)
{
    SHOW(setgroups(0, NULL));
    SHOW(setresgid(400, 400, 400));
    SHOW(setresuid(101, 101, 101));
    make("of-stranger");
}

int main(void)
{
    umask(022);
    static const char *const names[] = { "own", "of-member", "of-stranger", "plain" };
    for (int at = 0; at < 4; at++) {
        mkdir(names[at], 0777);
        SHOW(chown(names[at], 0, 300));
        SHOW(chmod(names[at], at == 3 ? 0777 : 02777));
    }
    make("own");
    in_child(member);
    in_child(stranger);
    return 0;
}
