/* call: openat2; covers: each rule of resolving, with links, dots and /proc, and what is made so */
#include "check.h"
#include <linux/openat2.h>

static int directory;
static char line[4000];
static size_t used;

static void end_of_line(void)
{
    say("%s\n", line);
    line[used = 0] = 0;
}

static long openat2(const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
    struct open_how how = {flags, mode, resolve};
    return syscall(SYS_openat2, directory, path, &how, sizeof how);
}

/* Whether it can be opened, and by which error not. */
static void can(const char *path, uint64_t flags, uint64_t resolve)
{
    long file = openat2(path, flags, flags & O_CREAT ? 0644 : 0, resolve);
    char byte = '-';
    if (file >= 0)
        read(file, &byte, 1);
    used += snprintf(line + used, sizeof line - used, "%s ", file < 0 ? error_name(errno) : byte == '-' ? "good" : (char[]){byte, 0});
    if (file >= 0)
        close(file);
}

int main(void)
{
    static const char *paths[] = {"f", "./e/../f", "e/../../d/f", "../g", "..", ".", "link", "out", "absolute", "/f", "/", "e/up", "e/up/f", "loop", "missing", "missing/f", "f/x", "e/", "link/", "folder/in", "/../../f", "e/far"};
    static const uint64_t rules[] = {RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH, RESOLVE_IN_ROOT, RESOLVE_NO_MAGICLINKS, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    mkdir("d", 0755);
    mkdir("d/e", 0755);
    put_file("d/f", "f");
    put_file("d/e/in", "i");
    put_file("g", "g");
    symlink("f", "d/link");
    symlink("../g", "d/out");
    symlink("/f", "d/absolute");
    symlink("..", "d/e/up");
    symlink("../../d/f", "d/e/far");
    symlink("loop", "d/loop");
    symlink("e", "d/folder");
    directory = open("d", O_RDONLY);
    for (size_t rule = 0; rule < sizeof rules / sizeof *rules; rule++) {
        for (size_t path = 0; path < sizeof paths / sizeof *paths; path++)
            if (paths[path][0] != '/' || rules[rule] & (RESOLVE_BENEATH | RESOLVE_IN_ROOT))
                can(paths[path], O_RDONLY, rules[rule]);
        end_of_line();
    }
    can("f", O_RDONLY, RESOLVE_NO_XDEV);
    can("made", O_CREAT | O_RDWR, RESOLVE_BENEATH);
    can("/made2", O_CREAT | O_RDWR, RESOLVE_IN_ROOT);
    can("../made3", O_CREAT | O_RDWR, RESOLVE_BENEATH);
    can("link", O_CREAT | O_EXCL | O_RDWR, RESOLVE_BENEATH);
    can("link", O_NOFOLLOW, RESOLVE_BENEATH);
    can("link", O_NOFOLLOW | O_PATH, RESOLVE_NO_SYMLINKS);
    end_of_line();
    HOLDS(access("d/made", F_OK) == 0 && access("d/made2", F_OK) == 0 && access("made3", F_OK) == -1);
    SHOW(openat2("f", O_RDONLY, 0, RESOLVE_BENEATH | RESOLVE_IN_ROOT));
    SHOW(openat2("f", O_PATH | O_RDWR, 0, 0));
    SHOW(openat2("f", O_CREAT | O_RDWR, 010000, 0));
    SHOW(openat2("", O_RDONLY, 0, RESOLVE_BENEATH));
    SHOW(openat2("f", O_CREAT | O_TRUNC, 0, RESOLVE_CACHED));
    directory = 99;
    SHOW(openat2("f", O_RDONLY, 0, RESOLVE_BENEATH));
    directory = open("g", O_RDONLY);
    SHOW(openat2("f", O_RDONLY, 0, RESOLVE_BENEATH));
    directory = AT_FDCWD;
    can("d/f", O_RDONLY, RESOLVE_BENEATH);
    can("/proc/self/stat", O_RDONLY, RESOLVE_NO_SYMLINKS);
    can("/proc/self/cwd", O_RDONLY, RESOLVE_NO_MAGICLINKS);
    can("/proc/self/fd/0", O_RDONLY, RESOLVE_NO_MAGICLINKS);
    can("/proc/stat", O_RDONLY, RESOLVE_NO_XDEV);
    can("/proc/stat", O_RDONLY, RESOLVE_NO_SYMLINKS);
    end_of_line();
    return 0;
}
