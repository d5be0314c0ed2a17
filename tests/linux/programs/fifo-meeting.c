/* call: mknod, open; covers: both sides of a fifo wait for each other */
#include "check.h"

static void writer(void)
{
    int fd = open("fifo", O_WRONLY);
    write(fd, "through the fifo", 16);
}

int main(void)
{
    char text[40] = "";
    SHOW(mkfifo("fifo", 0600));
    pid_t child = make_child(writer);
    int fd = open("fifo", O_RDONLY);
    SHOW(read(fd, text, 20));
    say("%s\n", text);
    SHOW(read(fd, text, 20));
    wait_for(child);
    return 0;
}
