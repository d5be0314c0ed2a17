/* call: poll; covers: files, directories and devices are ready at once */
#include "check.h"

int main(void)
{
    put_file("f", "");
    struct pollfd fds[] = {{open("f", O_RDONLY), POLLIN | POLLOUT, 0}, {open("/dev/null", O_RDWR), POLLIN | POLLOUT, 0}, {open(".", O_RDONLY), POLLIN, 0}};
    SHOW(poll(fds, 3, 0));
    say("%#x %#x %#x\n", fds[0].revents, fds[1].revents, fds[2].revents);
    return 0;
}
