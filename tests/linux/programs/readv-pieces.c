/* call: readv, preadv; covers: pieces of all sizes; also: musl */
#include "check.h"

int main(void)
{
    char first[4] = "", second[4] = "", third[20] = "";
    struct iovec pieces[] = {{first, 3}, {NULL, 0}, {second, 2}, {third, 19}};
    put_file("f", "abcdefghij");
    int fd = open("f", O_RDONLY);
    SHOW(readv(fd, pieces, 4));
    say("%s %s %s\n", first, second, third);
    SHOW(readv(fd, pieces, 4));
    SHOW(readv(fd, pieces, 0));
    SHOW(preadv(fd, pieces, 3, 5));
    say("%s %s\n", first, second);
    SHOW(lseek(fd, 0, SEEK_CUR));
    return 0;
}
