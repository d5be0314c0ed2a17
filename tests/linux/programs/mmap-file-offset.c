/* call: mmap; covers: from the middle of a file to beyond its end */
#include "check.h"

int main(void)
{
    char name[] = "page 0";
    int fd = open("f", O_RDWR | O_CREAT, 0644);
    for (int page = 0; page < 3; page++)
        name[5] = '0' + page, pwrite(fd, name, 6, page * 4096);
    char *pages = mmap(NULL, 2 * 4096, PROT_READ, MAP_PRIVATE, fd, 4096);
    say("%s, %s, %d\n", pages, pages + 4096, pages[4096 + 6]);
    return 0;
}
