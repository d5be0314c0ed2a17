/* call: mkdir, mknod, symlink, link, rename, unlink, rmdir; covers: names with slashes behind them, of links that lead nowhere, to files and to directories */
#include "check.h"

static const char *const NAMES[] = {"none", "file", "dir", "nowhere", "to-file", "to-dir", "loop"};

static void make(void)
{
    put_file("file", "text");
    mkdir("dir", 0755);
    symlink("absent", "nowhere");
    symlink("file", "to-file");
    symlink("dir", "to-dir");
    symlink("loop", "loop");
}

/* What is there, and whether a call has put something where a link leads. */
static void look(void)
{
    struct stat status;
    for (int i = 0; i < 7; i++)
        say(" %s %o", NAMES[i], lstat(NAMES[i], &status) ? 0 : status.st_mode & S_IFMT);
    say(" absent %o\n", lstat("absent", &status) ? 0 : status.st_mode & S_IFMT);
}

/* Whether something can be opened, which is closed again. */
static int opens(const char *path, int flags)
{
    int file = open(path, flags, 0644);
    return file < 0 ? file : close(file);
}

static void clear(void)
{
    unlink("none"), rmdir("none"), unlink("absent"), rmdir("absent"), unlink("file"), rmdir("dir"), unlink("nowhere"), unlink("to-file"), unlink("to-dir"), unlink("loop");
    unlink("other"), rmdir("other");
}

static void with(const char *name, const char *end)
{
    char path[32];
    struct stat status;
    snprintf(path, sizeof path, "%s%s", name, end);
    say("%s\n", path);
#define TRY(call)         \
    do {                  \
        make();           \
        SHOW(call);       \
        look();           \
        clear();          \
    } while (0)
    TRY(mkdir(path, 0755));
    TRY(mknod(path, S_IFREG | 0644, 0));
    TRY(symlink("x", path));
    TRY(link("file", path));
    TRY(link(path, "other"));
    TRY(linkat(AT_FDCWD, path, AT_FDCWD, "other", AT_SYMLINK_FOLLOW));
    TRY(rename("file", path));
    TRY(rename("dir", path));
    TRY(rename(path, "other"));
    TRY(unlink(path));
    TRY(rmdir(path));
    TRY(opens(path, O_CREAT | O_EXCL | O_WRONLY));
    TRY(opens(path, O_CREAT | O_WRONLY));
    TRY(opens(path, O_PATH | O_NOFOLLOW));
    TRY(lstat(path, &status));
    TRY(readlink(path, path, 1));
}

int main(void)
{
    const char *ends[] = {"", "/", "//", "/."};
    for (int end = 0; end < 4; end++)
        for (int i = 0; i < 7; i++)
            with(NAMES[i], ends[end]);
    return 0;
}
