/* call: open; covers: symbolic links that lead in circles, and many of them */
#include "check.h"

int main(void)
{
    char name[20], target[20];
    symlink("b", "a");
    symlink("a", "b");
    symlink("self", "self");
    SHOW(open("a", O_RDONLY));
    SHOW(open("self", O_RDONLY));
    SHOW(open("self/x", O_RDONLY));
    put_file("l0", "");
    for (int number = 1; number <= 41; number++) {
        snprintf(name, sizeof name, "l%d", number);
        snprintf(target, sizeof target, "l%d", number - 1);
        symlink(target, name);
    }
    HOLDS(open("l40", O_RDONLY) >= 0);
    SHOW(open("l41", O_RDONLY));
    return 0;
}
