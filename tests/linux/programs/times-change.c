/* call: write, read, rename, chmod, link; covers: which times which call changes */
#include "check.h"

static struct stat status;

static void reset(void)
{
    struct timespec times[2] = {{1000, 0}, {1000, 0}};
    utimensat(AT_FDCWD, "f", times, 0);
    stat("f", &status);
    nap(20);
}

static void changed(const char *what)
{
    struct timespec before = status.st_ctim;
    stat("f", &status);
    int change = before.tv_sec != status.st_ctim.tv_sec || before.tv_nsec != status.st_ctim.tv_nsec;
    say("%s: modified %d, changed %d\n", what, status.st_mtim.tv_sec != 1000, change);
}

int main(void)
{
    int fd = open("f", O_RDWR | O_CREAT, 0644);
    reset(), write(fd, "x", 1), changed("write");
    reset(), chmod("f", 0600), changed("chmod");
    reset(), link("f", "g"), changed("link");
    reset(), ftruncate(fd, 0), changed("ftruncate to the same size or less");
    reset(), ftruncate(fd, 10), changed("ftruncate to more");
    reset(), write(fd, "", 0), changed("write of nothing");
    reset(), unlink("g"), changed("unlink of another name");
    reset(), chown("f", 1, 1), changed("chown");
    return 0;
}
