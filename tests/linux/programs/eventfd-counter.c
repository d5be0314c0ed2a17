/* call: eventfd2, read, write; covers: adding, taking all, one at a time; also: musl dynamic */
#include "check.h"

int main(void)
{
    uint64_t value = 0;
    int fd = eventfd(3, EFD_NONBLOCK | EFD_CLOEXEC), steps = eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK);
    SHOW(fcntl(fd, F_GETFD));
    SHOW(read(fd, &value, 8));
    say("%ld\n", (long)value);
    SHOW(read(fd, &value, 8));
    value = 5;
    SHOW(write(fd, &value, 8));
    SHOW(write(fd, &value, 8));
    SHOW(read(fd, &value, 8));
    say("%ld\n", (long)value);
    SHOW(read(steps, &value, 8));
    say("%ld\n", (long)value);
    SHOW(read(steps, &value, 8));
    SHOW(read(steps, &value, 8));
    return 0;
}
