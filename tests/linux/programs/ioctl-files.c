/* call: ioctl; covers: requests that files and pipes know, and those that they do not */
#include "check.h"

int main(void)
{
    int ends[2], value = 0;
    put_file("f", "12345");
    int fd = open("f", O_RDONLY);
    pipe(ends);
    lseek(fd, 2, SEEK_SET);
    SHOW(ioctl(fd, FIONREAD, &value));
    say("%d\n", value);
    write(ends[1], "abc", 3);
    SHOW(ioctl(ends[0], FIONREAD, &value));
    say("%d\n", value);
    value = 1;
    SHOW(ioctl(ends[0], FIONBIO, &value));
    SHOW(fcntl(ends[0], F_GETFL) & O_NONBLOCK);
    SHOW(ioctl(fd, FIOCLEX));
    SHOW(fcntl(fd, F_GETFD));
    SHOW(ioctl(fd, FIONCLEX));
    SHOW(fcntl(fd, F_GETFD));
    SHOW(ioctl(fd, TIOCGWINSZ, &value));
    SHOW(ioctl(ends[0], TCGETS, &value));
    SHOW(ioctl(fd, 0x12345, &value));
    SHOW(ioctl(77, FIONREAD, &value));
    SHOW(isatty(fd));
    return 0;
}
