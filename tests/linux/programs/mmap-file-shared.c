/* call: mmap, msync; covers: writes that go to the file and come from it */
#include "check.h"

int main(void)
{
    char text[10] = "";
    put_file("f", "hello world");
    int fd = open("f", O_RDWR);
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    HOLDS(page != MAP_FAILED);
    memcpy(page, "HELLO", 5);
    SHOW(msync(page, 4096, MS_SYNC));
    SHOW(pread(fd, text, 9, 0));
    say("%s\n", text);
    pwrite(fd, "WORLD", 5, 6);
    say("%s\n", page);
    SHOW(munmap(page, 4096));
    show_file("f");
    return 0;
}
