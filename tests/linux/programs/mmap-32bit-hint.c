/* call: mmap; covers: MAP_32BIT with an address */
#include "check.h"

int main(void) {
    void *wished = (void *)0x51000000, *high = (void *)0x123456789000;
    void *low = mmap(wished, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    HOLDS(low == wished);
    HOLDS(mmap(high, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0) == high);
    /* Where something is, it goes elsewhere, and low. */
    uintptr_t next = (uintptr_t)mmap(wished, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    HOLDS(next != (uintptr_t)wished && next < 1ul << 31);
    return 0;
}
