/* call: kcmp; covers: two descriptors of one file */
#include "check.h"

int main(void)
{
    int fd = open("/dev/null", O_RDONLY), copy = dup(fd), other = open("/dev/null", O_RDONLY);
    SHOW(syscall(SYS_kcmp, getpid(), getpid(), 0, fd, copy));
    SHOW(syscall(SYS_kcmp, getpid(), getpid(), 0, fd, other) > 0);
    SHOW(syscall(SYS_kcmp, getpid(), 999999, 0, fd, other));
    return 0;
}
