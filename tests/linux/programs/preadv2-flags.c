/* call: preadv2, pwritev2; covers: position -1, flags, append */
#include "check.h"

int main(void)
{
    char buffer[8] = "";
    struct iovec piece = {buffer, 3}, text = {"XYZ", 3};
    put_file("f", "abcdef");
    int fd = open("f", O_RDWR);
    SHOW(preadv2(fd, &piece, 1, -1, 0));
    SHOW(lseek(fd, 0, SEEK_CUR));
    SHOW(preadv2(fd, &piece, 1, 0, 0));
    say("%s\n", buffer);
    SHOW(pwritev2(fd, &text, 1, 0, RWF_APPEND));
    SHOW(pwritev2(fd, &text, 1, -1, 0));
    SHOW(preadv2(fd, &piece, 1, 0, 0x4000));
    SHOW(preadv2(fd, &piece, 1, -2, 0));
    show_file("f");
    return 0;
}
