/* call: setrlimit, mmap, brk; covers: RLIMIT_AS and RLIMIT_DATA */
#include "check.h"

static void address_space(void)
{
    struct rlimit limit = {64 << 20, 64 << 20};
    SHOW(setrlimit(RLIMIT_AS, &limit));
    SHOW(mmap(NULL, 128 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
    SHOW(mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
    HOLDS(malloc(100 << 20) == NULL);
}

static void data(void)
{
    struct rlimit limit = {16 << 20, 16 << 20};
    SHOW(setrlimit(RLIMIT_DATA, &limit));
    SHOW((long)sbrk(32 << 20));
    SHOW(mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
}

int main(void)
{
    in_child(address_space);
    in_child(data);
    return 0;
}
