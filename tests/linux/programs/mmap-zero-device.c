/* call: mmap, open; covers: the zero device as private and shared memory */
#include "check.h"

int main(void)
{
    int fd = open("/dev/zero", O_RDWR);
    char *own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    HOLDS(own != MAP_FAILED && shared != MAP_FAILED);
    own[0] = 1;
    if (fork() == 0) {
        own[0] = shared[0] = 2;
        _exit(0);
    }
    wait(NULL);
    say("%d %d\n", own[0], shared[0]);
    return 0;
}
