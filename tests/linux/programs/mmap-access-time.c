/* call: mmap; covers: a file that was mapped was read */
#include "check.h"

static long accessed(const char *path)
{
    struct stat status;
    stat(path, &status);
    return status.st_atim.tv_sec;
}

static void show(const char *path, int flags, int protection)
{
    struct timespec times[2] = {{1000, 0}, {2000, 0}};
    put_file(path, "text");
    utimensat(AT_FDCWD, path, times, 0);
    int file = open(path, O_RDWR);
    HOLDS(accessed(path) == 1000);
    HOLDS(mmap(NULL, 4096, protection, flags, file, 0) != MAP_FAILED);
    HOLDS(accessed(path) > 2000);
}

int main(void)
{
    show("private", MAP_PRIVATE, PROT_READ);
    show("written", MAP_PRIVATE, PROT_READ | PROT_WRITE);
    show("shared", MAP_SHARED, PROT_READ | PROT_WRITE);
    return 0;
}
