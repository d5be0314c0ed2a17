/* call: mmap, fork; covers: memory that parent and child share */
#include "check.h"

static int *shared;

static void child(void)
{
    shared[0] = 42;
    shared[5000] = 43;
}

int main(void)
{
    shared = mmap(NULL, 40000, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared[0] = 1;
    in_child(child);
    say("%d %d\n", shared[0], shared[5000]);
    return 0;
}
