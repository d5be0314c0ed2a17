/* call: fcntl; covers: locks of open file descriptions */
#include "check.h"

static int lock(int fd, int kind)
{
    struct flock range = {.l_type = kind, .l_whence = SEEK_SET, .l_start = 0, .l_len = 10};
    return fcntl(fd, F_OFD_SETLK, &range);
}

int main(void)
{
    put_file("f", "");
    int one = open("f", O_RDWR), two = open("f", O_RDWR);
    SHOW(lock(one, F_WRLCK));
    SHOW(lock(two, F_RDLCK));
    SHOW(lock(one, F_RDLCK));
    SHOW(lock(two, F_RDLCK));
    SHOW(lock(two, F_WRLCK));
    SHOW(close(one));
    SHOW(lock(two, F_WRLCK));
    return 0;
}
