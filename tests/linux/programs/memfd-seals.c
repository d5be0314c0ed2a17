/* call: memfd_create, fcntl; covers: seals against writes and sizes, sealed files as memory */
#include "check.h"

int main(void)
{
    int fd = memfd_create("name", MFD_ALLOW_SEALING), other = memfd_create("name", 0);
    SHOW(write(fd, "text", 4));
    SHOW(fcntl(fd, F_GET_SEALS));
    SHOW(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW));
    SHOW(ftruncate(fd, 2));
    SHOW(ftruncate(fd, 10));
    SHOW(pwrite(fd, "TEXT", 4, 0));
    SHOW(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL));
    SHOW(pwrite(fd, "TEXT", 4, 0));
    SHOW(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
    char *seen = mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0);
    HOLDS(seen != MAP_FAILED && memcmp(seen, "TEXT", 4) == 0);
    SHOW(mprotect(seen, 4096, PROT_READ | PROT_WRITE));
    HOLDS(mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EPERM);
    char *copy = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    HOLDS(copy != MAP_FAILED && memcmp(copy, "TEXT", 4) == 0);
    SHOW(fcntl(other, F_GET_SEALS));
    SHOW(fcntl(0, F_GET_SEALS));
    return 0;
}
