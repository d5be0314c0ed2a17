/* call: openat2; covers: what the resolve flags forbid, and bad arguments */
#include "check.h"

struct how {
    uint64_t flags, mode, resolve, more;
};

static long openat2(int directory, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve, size_t size)
{
    struct how how = {flags, mode, resolve, 0};
    return syscall(SYS_openat2, directory, path, &how, size);
}

int main(void)
{
    mkdir("d", 0755);
    put_file("d/f", "");
    put_file("g", "");
    symlink("f", "d/link");
    int directory = open("d", O_RDONLY);
    SHOW(openat2(directory, "f", O_RDONLY, 0, 0, 24));
    SHOW(openat2(directory, "../g", O_RDONLY, 0, 8, 24));
    SHOW(openat2(directory, "/dev/null", O_RDONLY, 0, 8, 24));
    SHOW(openat2(directory, "link", O_RDONLY, 0, 4, 24));
    SHOW(openat2(directory, "link", O_RDONLY, 0, 8, 24));
    SHOW(openat2(directory, "/../f", O_RDONLY, 0, 16, 24));
    SHOW(openat2(directory, "f", O_RDONLY, 0644, 0, 24));
    SHOW(openat2(directory, "f", O_RDONLY, 0, 1024, 24));
    SHOW(openat2(directory, "f", 1ul << 40, 0, 0, 24));
    SHOW(openat2(directory, "f", O_RDONLY, 0, 0, 8));
    SHOW(openat2(directory, "f", O_RDONLY, 0, 0, 32));
    return 0;
}
