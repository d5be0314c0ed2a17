/* call: sendfile; covers: positions, offsets, short files; also: musl */
#include "check.h"

int main(void)
{
    put_file("from", "0123456789");
    int from = open("from", O_RDONLY), to = open("to", O_RDWR | O_CREAT, 0644);
    off_t offset = 4;
    SHOW(sendfile(to, from, &offset, 3));
    say("offset %ld\n", (long)offset);
    SHOW(lseek(from, 0, SEEK_CUR));
    SHOW(sendfile(to, from, NULL, 100));
    SHOW(lseek(from, 0, SEEK_CUR));
    SHOW(sendfile(to, from, NULL, 100));
    SHOW(lseek(to, 0, SEEK_CUR));
    show_file("to");
    return 0;
}
