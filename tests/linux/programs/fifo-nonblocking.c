/* call: open; covers: one side alone */
#include "check.h"

int main(void)
{
    char byte;
    mkfifo("fifo", 0600);
    SHOW(open("fifo", O_WRONLY | O_NONBLOCK));
    int reader = open("fifo", O_RDONLY | O_NONBLOCK);
    SHOW(reader);
    SHOW(read(reader, &byte, 1));
    int writer = open("fifo", O_WRONLY | O_NONBLOCK);
    SHOW(writer);
    SHOW(read(reader, &byte, 1));
    SHOW(write(writer, "x", 1));
    SHOW(read(reader, &byte, 1));
    SHOW(close(writer));
    SHOW(read(reader, &byte, 1));
    SHOW(open("fifo", O_RDWR));
    return 0;
}
