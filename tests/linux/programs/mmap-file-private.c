/* call: mmap; covers: a copy of a file that does not write back; also: musl dynamic */
#include "check.h"

int main(void)
{
    put_file("f", "hello");
    int fd = open("f", O_RDWR);
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    say("%s\n", page);
    memcpy(page, "HELLO", 5);
    show_file("f");
    close(fd);
    say("%s, then %d\n", page, page[100]);
    SHOW(munmap(page, 4096));
    return 0;
}
