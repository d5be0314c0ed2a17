/* call: openat; covers: directories opened by each other, 1,500 deep, are let go of at once */
#include "check.h"
#include <sys/stat.h>

#define DEPTH 1500

int main(void)
{
    HOLDS(mkdir("nested", 0700) == 0);
    int at = open("nested", O_RDONLY | O_DIRECTORY), depth = 0;
    for (; depth < DEPTH && mkdirat(at, "d", 0700) == 0; depth++) {
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY);
        if (next < 0)
            break;
        close(at);
        at = next;
    }
    say("%d deep\n", depth);
    HOLDS(close(dup(at)) == 0);
    int removed = 0;
    for (; removed < depth; removed++) {
        int up = openat(at, "..", O_RDONLY | O_DIRECTORY);
        close(at);
        if (up < 0 || unlinkat(up, "d", AT_REMOVEDIR) != 0)
            break;
        at = up;
    }
    say("%d removed\n", removed);
    HOLDS(close(at) == 0);
    HOLDS(rmdir("nested") == 0);
    return 0;
}
