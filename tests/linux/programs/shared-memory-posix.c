/* call: open, mmap, unlink; covers: shm_open in /dev/shm */
#include "check.h"

int main(void)
{
    int fd = shm_open("/nacre-test", O_RDWR | O_CREAT | O_EXCL, 0600);
    SHOW(fd);
    SHOW(ftruncate(fd, 4096));
    int other = shm_open("/nacre-test", O_RDWR, 0);
    char *one = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *two = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, other, 0);
    HOLDS(one != MAP_FAILED && two != MAP_FAILED);
    if (one == MAP_FAILED || two == MAP_FAILED)
        return 1;
    memcpy(one, "shared", 7);
    say("%s\n", two);
    SHOW(shm_unlink("/nacre-test"));
    SHOW(shm_open("/nacre-test", O_RDWR, 0));
    return 0;
}
