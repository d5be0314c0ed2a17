/* call: brk, mmap, mremap; covers: malloc, realloc, calloc of all sizes; also: musl dynamic */
#include "check.h"

int main(void)
{
    unsigned sum = 0;
    static char *blocks[200];
    for (int round = 0; round < 4000; round++) {
        int index = round * 7919 % 200, size = round * 104729 % (round % 40 ? 3000 : 400000) + 1;
        if (blocks[index])
            sum += (unsigned char)blocks[index][0], free(blocks[index]);
        blocks[index] = malloc(size);
        memset(blocks[index], round, size);
    }
    say("%u\n", sum);
    char *large = malloc(3 << 20);
    memset(large, 9, 3 << 20);
    large = realloc(large, 12 << 20);
    say("%d\n", large[(3 << 20) - 1]);
    char *zeros = calloc(1000, 1000);
    say("%d\n", zeros[999999]);
    HOLDS(malloc(1ul << 60) == NULL);
    return 0;
}
