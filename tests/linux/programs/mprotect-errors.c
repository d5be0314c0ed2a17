/* call: mprotect; covers: alignment, holes, rights, file mappings */
#include "check.h"

int main(void)
{
    char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SHOW(mprotect(pages + 1, 4096, PROT_READ));
    SHOW(mprotect(pages, 0, PROT_READ));
    SHOW(mprotect(pages, 100, PROT_READ));
    SHOW(mprotect(pages, 4096, 0x100));
    SHOW(mprotect(pages, -4096, PROT_READ));
    munmap(pages + 4096, 4096);
    SHOW(mprotect(pages, 3 * 4096, PROT_READ | PROT_WRITE));
    SHOW(mprotect((void *)0x200000000, 4096, PROT_READ));
    put_file("f", "x");
    char *file = mmap(NULL, 4096, PROT_READ, MAP_SHARED, open("f", O_RDONLY), 0);
    SHOW(mprotect(file, 4096, PROT_READ | PROT_WRITE));
    return 0;
}
