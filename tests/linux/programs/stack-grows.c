/* call: mmap; covers: deep recursion, and its limit */
#include "check.h"

static int deep(int levels)
{
    char frame[1000];
    memset(frame, levels, sizeof frame);
    return levels == 0 ? 0 : deep(levels - 1) + (frame[500] == (char)levels);
}

static volatile int limit = 3000;

static int endless(int level)
{
    volatile char frame[10000];
    frame[0] = level;
    return endless(level + 1) + frame[0];
}

static void overflow(void)
{
    endless(0);
}

int main(void)
{
    say("%d\n", deep(limit));
    in_child(overflow);
    return 0;
}
