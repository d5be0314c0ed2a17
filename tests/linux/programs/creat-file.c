/* call: creat; covers: as open with O_CREAT, O_WRONLY and O_TRUNC */
#include "check.h"

int main(void)
{
    char byte;
    put_file("f", "text");
    int fd = creat("f", 0600);
    SHOW(lseek(fd, 0, SEEK_END));
    SHOW(read(fd, &byte, 1));
    SHOW(creat("missing/f", 0600));
    SHOW(creat(".", 0600));
    return 0;
}
