/* call: ioprio_get, ioprio_set; covers: classes of input and output */
#include "check.h"

int main(void)
{
    SHOW(syscall(SYS_ioprio_get, 1, 0));
    SHOW(syscall(SYS_ioprio_set, 1, 0, 2 << 13 | 3));
    SHOW(syscall(SYS_ioprio_get, 1, 0) == (2 << 13 | 3));
    SHOW(syscall(SYS_ioprio_get, 9, 0));
    return 0;
}
