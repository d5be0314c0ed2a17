/* call: open, read, write; covers: null, zero, full and the random devices; also: musl */
#include "check.h"

int main(void)
{
    char buffer[16];
    int null = open("/dev/null", O_RDWR), zero = open("/dev/zero", O_RDWR), full = open("/dev/full", O_RDWR);
    SHOW(write(null, "text", 4));
    SHOW(read(null, buffer, 4));
    SHOW(lseek(null, 100, SEEK_SET));
    memset(buffer, 1, sizeof buffer);
    SHOW(read(zero, buffer, 16));
    HOLDS(buffer[0] == 0 && buffer[15] == 0);
    SHOW(write(zero, "text", 4));
    SHOW(read(full, buffer, 16));
    SHOW(write(full, "text", 4));
    SHOW(read(open("/dev/urandom", O_RDONLY), buffer, 16));
    SHOW(read(open("/dev/random", O_RDONLY), buffer, 16));
    struct stat status;
    stat("/dev/null", &status);
    say("%o %#lx\n", status.st_mode, (long)status.st_rdev);
    return 0;
}
