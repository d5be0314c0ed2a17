/* call: write; covers: a buffer whose end is not there */
#include "check.h"

int main(void)
{
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages + 4096, 4096);
    memcpy(pages + 4090, "abcdef", 6);
    int fd = open("f", O_RDWR | O_CREAT, 0644);
    SHOW(write(fd, pages + 4090, 6));
    SHOW(write(fd, pages + 4096, 6));
    show_file("f");
    return 0;
}
