/* call: ioctl, read, poll; covers: TIOCPKT puts a byte before what the master reads, and tells of flow */
#include "check.h"
#include <termios.h>

static int master, slave;

static void show_master(void)
{
    char text[100];
    struct pollfd look = {.fd = master, .events = POLLIN | POLLPRI};
    nap(10);
    poll(&look, 1, 0);
    long count = read(master, text, sizeof text);
    say("%s%s:", look.revents & POLLIN ? "in " : "", look.revents & POLLPRI ? "news" : "");
    for (long index = 0; index < count; index++)
        say(" %02x", text[index]);
    say("\n");
}

int main(void)
{
    int on = 1, off = 0, is_on = 7;
    struct termios attributes;
    master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    unlockpt(master);
    slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_NONBLOCK);
    SHOW(ioctl(slave, TIOCPKT, &on));
    SHOW(ioctl(master, TIOCGPKT, &is_on));
    say("%d\n", is_on);
    SHOW(ioctl(master, TIOCPKT, &on));
    SHOW(ioctl(master, TIOCGPKT, &is_on));
    say("%d\n", is_on);
    write(slave, "abc", 3);
    show_master();
    show_master();
    SHOW(tcflow(slave, TCOOFF));
    show_master();
    SHOW(tcflow(slave, TCOON));
    show_master();
    write(master, "\023", 1);
    show_master();
    write(master, "\021", 1);
    show_master();
    SHOW(tcflush(slave, TCIFLUSH));
    show_master();
    tcgetattr(slave, &attributes);
    attributes.c_iflag &= ~IXON;
    tcsetattr(slave, TCSANOW, &attributes);
    show_master();
    attributes.c_iflag |= IXON;
    tcsetattr(slave, TCSANOW, &attributes);
    show_master();
    SHOW(ioctl(master, TIOCPKT, &off));
    write(slave, "abc", 3);
    show_master();
    return 0;
}
