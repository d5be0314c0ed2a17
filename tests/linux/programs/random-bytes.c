/* call: getrandom; covers: lengths, flags, errors; also: musl dynamic */
#include "check.h"

int main(void)
{
    char one[32] = "", other[32] = "";
    SHOW(syscall(SYS_getrandom, one, 32, 0));
    SHOW(syscall(SYS_getrandom, other, 32, 1));
    HOLDS(memcmp(one, other, 32) != 0);
    SHOW(syscall(SYS_getrandom, one, 0, 0));
    SHOW(syscall(SYS_getrandom, one, 32, 2));
    SHOW(syscall(SYS_getrandom, one, 32, 8));
    SHOW(syscall(SYS_getrandom, one, 32, 6));
    SHOW(syscall(SYS_getrandom, (void *)8, 32, 0));
    return 0;
}
