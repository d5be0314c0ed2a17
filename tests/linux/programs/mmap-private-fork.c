/* call: mmap, fork; covers: memory that a child has for itself; also: musl dynamic */
#include "check.h"

static int *own;
static int counter = 5;

static void child(void)
{
    say("child sees %d %d\n", own[0], counter);
    own[0] = 42;
    counter = 6;
    say("child has %d %d\n", own[0], counter);
}

int main(void)
{
    own = mmap(NULL, 1 << 22, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int index = 0; index < 1 << 20; index += 1024)
        own[index] = index;
    in_child(child);
    say("parent has %d %d\n", own[0], counter);
    int wrong = 0;
    for (int index = 0; index < 1 << 20; index += 1024)
        wrong += own[index] != index;
    say("%d wrong\n", wrong);
    return 0;
}
