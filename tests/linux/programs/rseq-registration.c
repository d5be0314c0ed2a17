/* call: rseq; covers: a second registration, errors */
#include "check.h"

int main(void)
{
    static char area[64] __attribute__((aligned(32)));
    SHOW(syscall(SYS_rseq, area + 1, 32, 0, 0x53053053));
    SHOW(syscall(SYS_rseq, area, 32, 2, 0x53053053));
    return 0;
}
