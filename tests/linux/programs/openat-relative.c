/* call: openat; covers: directories as starting points; also: musl dynamic */
#include "check.h"

int main(void)
{
    mkdir("d", 0755);
    put_file("d/f", "text");
    put_file("g", "");
    int directory = open("d", O_RDONLY), file = open("g", O_RDONLY);
    SHOW(openat(directory, "f", O_RDONLY));
    SHOW(openat(directory, "../g", O_RDONLY));
    SHOW(openat(directory, "/dev/null", O_RDONLY));
    SHOW(openat(99, "/dev/null", O_RDONLY));
    SHOW(openat(AT_FDCWD, "d/f", O_RDONLY));
    SHOW(openat(99, "f", O_RDONLY));
    SHOW(openat(file, "f", O_RDONLY));
    SHOW(openat(directory, "missing", O_RDONLY));
    SHOW(openat(directory, "", O_RDONLY));
    rmdir("d");
    unlink("d/f");
    SHOW(rmdir("d"));
    SHOW(openat(directory, "new", O_RDWR | O_CREAT, 0644));
    return 0;
}
