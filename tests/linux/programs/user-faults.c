/* call: userfaultfd; covers: memory whose pages a program brings itself */
#include "check.h"

int main(void)
{
    int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
    HOLDS(fd >= 0);
    SHOW(syscall(SYS_userfaultfd, 1));
    return 0;
}
