/* call: io_uring_setup; covers: a ring of requests is made */
#include "check.h"

int main(void)
{
    char parameters[120] = "";
    HOLDS(syscall(SYS_io_uring_setup, 4, parameters) >= 0);
    SHOW(syscall(SYS_io_uring_setup, 0, parameters));
    return 0;
}
