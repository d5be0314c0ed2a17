/* call: mmap, munmap; covers: fresh memory is zero and can be written; also: musl dynamic */
#include "check.h"

int main(void)
{
    char *pages = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(pages != MAP_FAILED && (uintptr_t)pages % 4096 == 0);
    long sum = 0;
    for (int index = 0; index < 1 << 20; index++)
        sum += pages[index];
    say("sum %ld\n", sum);
    memset(pages, 1, 1 << 20);
    SHOW(munmap(pages, 1 << 20));
    SHOW(munmap(pages, 1 << 20));
    return 0;
}
