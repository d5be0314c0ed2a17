/* call: eventfd2, fork; covers: a counter that two processes share */
#include "check.h"

static int fd;

static void child(void)
{
    uint64_t value = 7;
    nap(20);
    write(fd, &value, 8);
}

int main(void)
{
    uint64_t value = 0;
    fd = eventfd(0, 0);
    pid_t id = make_child(child);
    SHOW(read(fd, &value, 8));
    say("%ld\n", (long)value);
    wait_for(id);
    return 0;
}
