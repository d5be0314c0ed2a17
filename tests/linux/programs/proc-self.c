/* call: readlink, open; covers: /proc/self/exe, fd and cwd */
#include "check.h"

int main(void)
{
    char path[PATH_MAX] = "", other[PATH_MAX];
    put_file("f", "text");
    int fd = open("f", O_RDONLY);
    HOLDS(readlink("/proc/self/exe", path, sizeof path - 1) > 0 && strcmp(path, self) == 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    memset(other, 0, sizeof other);
    HOLDS(readlink(path, other, sizeof other - 1) > 0 && strcmp(strrchr(other, '/'), "/f") == 0);
    show_file(path);
    char here[PATH_MAX];
    memset(other, 0, sizeof other);
    getcwd(here, sizeof here);
    HOLDS(readlink("/proc/self/cwd", other, sizeof other - 1) > 0 && strcmp(other, here) == 0);
    return 0;
}
