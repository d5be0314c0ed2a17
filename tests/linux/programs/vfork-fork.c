/* call: vfork, fork; covers: a child that forks gives its own child a copy of the memory it was lent */
#include "check.h"

static volatile int *large;

/* Changes what it has, and says what it sees once the others have changed theirs. */
static void grandchild(const int *go, volatile int *value)
{
    char byte;
    *value = large[0] = 3;
    read(go[0], &byte, 1);
    say("its child: %d %d %d\n", *value, large[0], large[100000]);
    _exit(0);
}

int main(void)
{
    int go[2], end[2];
    char byte;
    volatile int value = 1;
    large = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    large[100000] = 1;
    pipe(go);
    pipe(end);
    pid_t child = vfork();
    if (child == 0) {
        value = large[0] = 2;
        if (fork() == 0)
            grandchild(go, &value);
        large[1] = 4;
        _exit(0);
    }
    wait_for(child);
    close(end[1]);
    say("%d %d %d\n", value, large[0], large[1]);
    value = large[0] = large[100000] = 9;
    write(go[1], "", 1);
    SHOW(read(end[0], &byte, 1));
    say("%d %d\n", value, large[0]);
    return 0;
}
