/* call: mlock, munlock, mlock2, mlockall, munlockall; covers: what is accepted and refused */
#include "check.h"

int main(void)
{
    char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SHOW(mlock(pages, 4096));
    SHOW(munlock(pages, 4096));
    SHOW(mlock(pages + 100, 10));
    SHOW(syscall(SYS_mlock2, pages, 4096, 1));
    SHOW(syscall(SYS_mlock2, pages, 4096, 2));
    munmap(pages + 4096, 4096);
    SHOW(mlock(pages, 3 * 4096));
    SHOW(munlock(pages, 3 * 4096));
    SHOW(mlockall(0));
    SHOW(mlockall(64));
    SHOW(munlockall());
    return 0;
}
