/* call: read; covers: the end of a file, short reads, no bytes; also: musl dynamic */
#include "check.h"

int main(void)
{
    char buffer[8] = "";
    put_file("f", "12345");
    int fd = open("f", O_RDONLY);
    SHOW(read(fd, buffer, 3));
    SHOW(read(fd, buffer + 3, 5));
    SHOW(read(fd, buffer, 5));
    SHOW(read(fd, buffer, 0));
    say("%s\n", buffer);
    return 0;
}
