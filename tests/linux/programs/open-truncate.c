/* call: open; covers: O_TRUNC empties, even with other modes */
#include "check.h"

int main(void)
{
    put_file("f", "hello");
    int fd = open("f", O_RDWR);
    SHOW(open("f", O_WRONLY | O_TRUNC));
    SHOW(lseek(fd, 0, SEEK_END));
    put_file("f", "hello");
    SHOW(open("f", O_RDONLY | O_TRUNC));
    SHOW(lseek(fd, 0, SEEK_END));
    return 0;
}
