/* call: memfd_create, ftruncate, mmap; covers: a file without a name, shared by fork */
#include "check.h"

static char *page;

static void child(void)
{
    memcpy(page, "child", 6);
}

int main(void)
{
    struct stat status;
    char text[10] = "";
    int fd = memfd_create("name", MFD_CLOEXEC);
    SHOW(fd);
    SHOW(fcntl(fd, F_GETFD));
    SHOW(ftruncate(fd, 4096));
    SHOW(fstat(fd, &status));
    say("%o %ld\n", status.st_mode, (long)status.st_size);
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    in_child(child);
    SHOW(read(fd, text, 9));
    say("%s\n", text);
    SHOW(memfd_create("name", 0x100));
    return 0;
}
