/* call: signalfd4; covers: sizes, flags, descriptors */
#include "check.h"

int main(void)
{
    char byte;
    sigset_t set;
    sigemptyset(&set);
    int fd = signalfd(-1, &set, SFD_NONBLOCK);
    SHOW(signalfd(-1, &set, 1));
    SHOW(signalfd(0, &set, 0));
    SHOW(signalfd(77, &set, 0));
    SHOW(syscall(SYS_signalfd4, -1, &set, 4, 0));
    SHOW(read(fd, &byte, 1));
    SHOW(write(fd, &byte, 1));
    return 0;
}
