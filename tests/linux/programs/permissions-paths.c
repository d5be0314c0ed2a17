/* call: open, access, faccessat, chdir, mkdir, rename, link, symlink, readlink, truncate, utimensat, chmod, chown, execve; covers: what modes let a user do, on the way and at the end; also: musl */
#include "check.h"
#include <sys/fsuid.h>

static void everything(void)
{
    struct stat status;
    char text[64];
    SHOW(stat("search/file", &status));
    SHOW(stat("list/file", &status));
    SHOW(open("list", O_RDONLY | O_DIRECTORY) >= 0);
    SHOW(open("search", O_RDONLY | O_DIRECTORY));
    SHOW(open("search/file", O_RDONLY) >= 0);
    SHOW(open("way/in/file", O_RDONLY) >= 0);
    SHOW(open("link", O_RDONLY) >= 0);
    SHOW(lstat("list/link", &status));
    SHOW(open("hidden", O_RDONLY));
    SHOW(readlink("list/link", text, 64));
    SHOW(readlink("search/link", text, 64));
    SHOW(chdir("list"));
    SHOW(chdir("search") == 0 && open("file", O_RDONLY) >= 0 && chdir("..") == 0);
    SHOW(mkdir("list/new", 0755));
    SHOW(mkdir("list", 0755));
    SHOW(mkdir("open/new", 0755));
    SHOW(rmdir("open/new"));
    SHOW(symlink("x", "search/new"));
    SHOW(symlink("x", "open/link"));
    SHOW(link("search/file", "open/file"));
    SHOW(rename("open/link", "search/link"));
    SHOW(rename("search/file", "open/taken"));
    SHOW(unlink("search/file"));
    SHOW(truncate("search/file", 0));
    SHOW(truncate("open/all", 3));
    SHOW(utimensat(AT_FDCWD, "open/all", NULL, 0));
    SHOW(utimensat(AT_FDCWD, "open/all", (struct timespec[2]){ { 1, 2 }, { 3, 4 } }, 0));
    SHOW(utimensat(AT_FDCWD, "search/file", NULL, 0));
    SHOW(open("open/all", O_RDWR | O_TRUNC) >= 0);
    SHOW(open("search/file", O_RDONLY | O_TRUNC));
    SHOW(open("open", O_RDWR));
    SHOW(open("list/nothing", O_RDONLY));
    SHOW(open("open/nothing/x", O_RDONLY));
    SHOW(open("open/all/x", O_RDONLY));
    SHOW(open("search/new", O_RDWR | O_CREAT, 0600));
    SHOW(open("search/file", O_RDWR | O_CREAT | O_EXCL, 0600));
    SHOW(open("group", O_RDONLY) >= 0);
    SHOW(open("owned", O_RDONLY));
    SHOW(chmod("owned", 0700));
    SHOW(chmod("group", 0700));
    SHOW(chmod("owned", 02770));
    stat("owned", &status);
    say("%o\n", status.st_mode);
    SHOW(chown("owned", -1, 300));
    SHOW(chown("owned", -1, 400));
    SHOW(chown("owned", 0, -1));
    SHOW(chown("owned", 100, -1));
    SHOW(access("owned", R_OK | W_OK | X_OK));
    SHOW(access("search/file", W_OK));
    SHOW(faccessat(AT_FDCWD, "list/file", F_OK, AT_EACCESS));
    SHOW(execl("search/file", "file", NULL));
    SHOW(execl("list/file", "file", NULL));
    SHOW(mknod("open/device", S_IFCHR | 0600, 5));
    SHOW(mkfifo("open/fifo", 0600));
    SHOW(stat("open/fifo", &status) == 0 && status.st_uid == 100 && status.st_gid == 200);
    int file = open("owned", O_RDWR);
    SHOW(fchmod(file, 0400));
    SHOW(fchown(file, 1, 1));
    SHOW(write(file, "x", 1));
    close(file);
    SHOW(open("owned", O_RDWR));
}

static void child(void)
{
    gid_t groups[] = { 300 };
    SHOW(setgroups(1, groups));
    SHOW(setresgid(200, 200, 200));
    SHOW(setresuid(100, 100, 100));
    everything();
}

static void real(void)
{
    SHOW(setresuid(100, 0, 0));
    SHOW(access("search/file", W_OK));
    SHOW(faccessat(AT_FDCWD, "search/file", W_OK, AT_EACCESS));
    SHOW(open("search/file", O_RDWR) >= 0);
    SHOW(setresuid(0, 100, 0));
    SHOW(access("search/file", W_OK));
    SHOW(open("search/file", O_RDWR));
    SHOW(setresuid(0, 0, 0));
    SHOW(open("search/file", O_RDWR) >= 0);
    SHOW(access("search/file", X_OK));
    SHOW(setfsuid(100));
    SHOW(open("search/file", O_RDWR));
    SHOW(chown("owned", 5, 5));
    close(open("open/fresh", O_RDWR | O_CREAT, 0600));
    struct stat status;
    SHOW(stat("open/fresh", &status) == 0 && status.st_uid == 100);
    SHOW(setfsuid(0));
    SHOW(open("search/file", O_RDWR) >= 0);
}

static void traps(void)
{
    SHOW(setresuid(100, 100, 100));
    SHOW(open("tmp/theirs", O_RDONLY));
    SHOW(open("tmp/own", O_RDONLY) >= 0);
    SHOW(open("tmp/roots", O_RDONLY) >= 0);
    SHOW(open("tmp/theirs/x", O_RDONLY));
    SHOW(unlink("tmp/theirs"));
    SHOW(unlink("tmp/own"));
}

static void make(const char *path, mode_t mode, uid_t user, gid_t group)
{
    put_file(path, "text");
    chmod(path, mode);
    chown(path, user, group);
}

int main(void)
{
    mkdir("search", 0711), mkdir("list", 0744), mkdir("way", 0711), mkdir("way/in", 0711);
    mkdir("open", 0777), chmod("open", 0777);
    make("search/file", 0644, 0, 0), make("list/file", 0644, 0, 0), make("way/in/file", 0604, 0, 0);
    make("open/all", 0666, 0, 0), make("group", 0640, 0, 300), make("owned", 0077, 100, 0);
    symlink("way/in/file", "link");
    symlink("list/file", "hidden");
    symlink("x", "list/link"), symlink("x", "search/link");
    in_child(child);
    in_child(real);
    mkdir("tmp", 0777), chmod("tmp", 01777);
    symlink("../open/all", "tmp/theirs"), lchown("tmp/theirs", 200, 200);
    symlink("../open/all", "tmp/own"), lchown("tmp/own", 100, 200);
    symlink("../open/all", "tmp/roots");
    in_child(traps);
    return 0;
}
