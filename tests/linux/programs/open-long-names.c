/* call: open; covers: names and paths at their limits */
#include "check.h"

static char path[6000];

int main(void)
{
    memset(path, 'n', 255);
    HOLDS(open(path, O_RDWR | O_CREAT, 0644) >= 0);
    memset(path, 'n', 256);
    SHOW(open(path, O_RDWR | O_CREAT, 0644));
    for (int index = 0; index < 5000; index += 2)
        memcpy(path + index, "./", 2);
    path[4094] = 'x', path[4095] = 0;
    SHOW(open(path, O_RDONLY));
    path[4095] = 'x', path[4096] = 0;
    SHOW(open(path, O_RDONLY));
    SHOW(mkdir(path, 0755));
    SHOW(chdir(path));
    SHOW(unlink(path));
    return 0;
}
