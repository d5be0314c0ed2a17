/* call: eventfd2, poll; covers: when it is readable and writable */
#include "check.h"

int main(void)
{
    uint64_t value = -2;
    struct pollfd fd = {eventfd(0, EFD_NONBLOCK), POLLIN | POLLOUT, 0};
    SHOW(poll(&fd, 1, 0));
    say("%#x\n", fd.revents);
    write(fd.fd, &value, 8);
    SHOW(poll(&fd, 1, 0));
    say("%#x\n", fd.revents);
    return 0;
}
