/* call: tuxcall, create_module; covers: numbers that no call has */
#include "check.h"

int main(void)
{
    SHOW(syscall(400));
    SHOW(syscall(10000));
    SHOW(syscall(-1));
    SHOW(syscall(SYS_tuxcall));
    SHOW(syscall(SYS_create_module));
    return 0;
}
