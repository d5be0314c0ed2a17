/* call: mkdir, unlink, rename; covers: what a directory's time says */
#include "check.h"

static struct stat status;

static void reset(void)
{
    struct timespec times[2] = {{1000, 0}, {1000, 0}};
    utimensat(AT_FDCWD, "d", times, 0);
}

static void changed(const char *what)
{
    stat("d", &status);
    say("%s: modified %d, links %ld\n", what, status.st_mtim.tv_sec != 1000, (long)status.st_nlink);
}

int main(void)
{
    mkdir("d", 0755);
    reset(), put_file("d/f", "x"), changed("new file");
    reset(), put_file("d/f", "y"), changed("file written");
    reset(), mkdir("d/e", 0755), changed("new directory");
    reset(), rename("d/f", "d/g"), changed("rename");
    reset(), link("d/g", "d/h"), changed("link");
    reset(), unlink("d/h"), changed("unlink");
    reset(), rmdir("d/e"), changed("rmdir");
    reset(), rename("d/g", "g"), changed("moved away");
    return 0;
}
