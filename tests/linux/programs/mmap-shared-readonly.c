/* call: mmap; covers: a shared mapping that is only read sees writes */
#include "check.h"

int main(void)
{
    put_file("f", "hello");
    int fd = open("f", O_RDWR), reader = open("f", O_RDONLY);
    char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, reader, 0);
    say("%s\n", page);
    pwrite(fd, "HE", 2, 0);
    say("%s\n", page);
    SHOW(mprotect(page, 4096, PROT_READ | PROT_WRITE));
    return 0;
}
