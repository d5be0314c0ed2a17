/* call: madvise; covers: pages that are zero again, in private and shared memory; also: musl */
#include "check.h"

int main(void)
{
    put_file("f", "text");
    char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *file = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, open("f", O_RDONLY), 0);
    memset(pages, 5, 3 * 4096);
    SHOW(madvise(pages + 4096, 4096, MADV_DONTNEED));
    say("%d %d %d\n", pages[4095], pages[4096], pages[8192]);
    file[0] = 'T';
    SHOW(madvise(file, 4096, MADV_DONTNEED));
    say("%s\n", file);
    SHOW(madvise(pages, 4096, MADV_WILLNEED));
    SHOW(madvise(pages, 4096, MADV_SEQUENTIAL));
    say("%d\n", pages[0]);
    return 0;
}
