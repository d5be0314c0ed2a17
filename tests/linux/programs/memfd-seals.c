/* call: memfd_create, fcntl; covers: seals against writes and sizes */
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
    SHOW(fcntl(other, F_GET_SEALS));
    SHOW(fcntl(0, F_GET_SEALS));
    return 0;
}
