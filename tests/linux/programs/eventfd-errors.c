/* call: eventfd2, read, write; covers: sizes, the largest value, flags */
#include "check.h"

int main(void)
{
    uint64_t value = -1, most = -2;
    int fd = eventfd(0, EFD_NONBLOCK);
    SHOW(read(fd, &value, 4));
    SHOW(write(fd, &value, 4));
    SHOW(write(fd, &value, 8));
    SHOW(write(fd, &most, 8));
    value = 1;
    SHOW(write(fd, &value, 8));
    SHOW(eventfd(0, 2));
    return 0;
}
