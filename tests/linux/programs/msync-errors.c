/* call: msync; covers: flags, alignment, holes */
#include "check.h"

int main(void)
{
    put_file("f", "text");
    char *page = mmap(NULL, 2 * 4096, PROT_READ, MAP_SHARED, open("f", O_RDONLY), 0);
    SHOW(msync(page, 4096, MS_SYNC));
    SHOW(msync(page, 4096, MS_ASYNC | MS_INVALIDATE));
    SHOW(msync(page, 4096, MS_SYNC | MS_ASYNC));
    SHOW(msync(page, 4096, 64));
    SHOW(msync(page + 1, 4096, MS_SYNC));
    SHOW(msync(page, 0, MS_SYNC));
    munmap(page + 4096, 4096);
    SHOW(msync(page, 2 * 4096, MS_SYNC));
    return 0;
}
