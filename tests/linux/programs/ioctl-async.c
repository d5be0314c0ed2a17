/* call: ioctl; covers: FIOASYNC sets O_ASYNC, and is refused for files that tell nobody */
#include "check.h"

static volatile int came;

static void handler(int number)
{
    came = number;
}

int main(void)
{
    int ends[2], on = 1, off = 0;
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    handle(SIGIO, handler, 0);
    SHOW(ioctl(ends[0], FIOASYNC, &on));
    HOLDS(fcntl(ends[0], F_GETFL) & O_ASYNC);
    SHOW(fcntl(ends[0], F_SETOWN, getpid()));
    SHOW(write(ends[1], "x", 1));
    nap(10);
    say("%s\n", signal_name(came));
    came = 0;
    SHOW(ioctl(ends[0], FIOASYNC, &off));
    HOLDS(fcntl(ends[0], F_GETFL) & O_ASYNC);
    SHOW(write(ends[1], "x", 1));
    nap(10);
    say("%d\n", came);
    int file = open("file", O_RDWR | O_CREAT, 0600);
    SHOW(ioctl(file, FIOASYNC, &off));
    SHOW(ioctl(file, FIOASYNC, &on));
    SHOW(ioctl(ends[0], FIOASYNC, NULL));
    SHOW(ioctl(99, FIOASYNC, &on));
    return 0;
}
