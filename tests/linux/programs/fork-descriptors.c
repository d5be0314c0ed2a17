/* call: fork, lseek, close; covers: positions are shared, tables are not; also: musl dynamic */
#include "check.h"

static int fd;

static void child(void)
{
    char text[4] = "";
    read(fd, text, 2);
    say("child %s\n", text);
    close(fd);
    SHOW(fcntl(fd, F_GETFD));
}

int main(void)
{
    char text[4] = "";
    put_file("f", "abcdef");
    fd = open("f", O_RDONLY);
    in_child(child);
    read(fd, text, 2);
    say("parent %s\n", text);
    return 0;
}
