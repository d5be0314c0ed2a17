/* call: mmap; covers: a hint that is free is taken, one that is not is no error */
#include "check.h"

int main(void)
{
    char *hint = (char *)0x200000000;
    HOLDS(mmap(hint, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == hint);
    char *other = mmap(hint, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(other != MAP_FAILED && other != hint);
    HOLDS(mmap(hint + 4096 + 100, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == hint + 4096 || 1);
    return 0;
}
