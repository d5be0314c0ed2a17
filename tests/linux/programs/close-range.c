/* call: close_range; covers: ranges, the flag for exec, errors */
#include "check.h"

int main(void)
{
    for (int count = 0; count < 8; count++)
        open("/dev/null", O_RDONLY);
    SHOW(syscall(SYS_close_range, 4, 6, 0));
    for (int fd = 3; fd < 12; fd++)
        say("%d: %d\n", fd, fcntl(fd, F_GETFD));
    SHOW(syscall(SYS_close_range, 7, ~0u, 4));
    for (int fd = 3; fd < 12; fd++)
        say("%d: %d\n", fd, fcntl(fd, F_GETFD));
    SHOW(syscall(SYS_close_range, 6, 5, 0));
    SHOW(syscall(SYS_close_range, 3, 4, 64));
    SHOW(syscall(SYS_close_range, 3, ~0u, 0));
    SHOW(open("/dev/null", O_RDONLY));
    return 0;
}
