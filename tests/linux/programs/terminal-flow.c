/* call: ioctl, write, poll; covers: IXON, IXANY and TCXONC hold a terminal's output back */
#include "check.h"
#include <termios.h>

static int master, slave;

static void slave_says(const char *text)
{
    struct pollfd look = {.fd = slave, .events = POLLOUT};
    errno = 0;
    long count = write(slave, text, strlen(text));
    int error = errno;
    poll(&look, 1, 0);
    say("%s: %ld %s, %s\n", text, count, count < 0 ? error_name(error) : "", look.revents & POLLOUT ? "ready" : "waits");
}

static void show_screen(void)
{
    char text[100];
    nap(10);
    long count = read(master, text, sizeof text);
    say("screen:");
    for (long index = 0; index < count; index++)
        say(" %02x", text[index]);
    say("\n");
}

static void type(const char *keys)
{
    write(master, keys, strlen(keys));
    nap(10);
}

static void set_input(tcflag_t set, tcflag_t clear)
{
    struct termios attributes;
    tcgetattr(slave, &attributes);
    attributes.c_iflag = (attributes.c_iflag | set) & ~clear;
    SHOW(tcsetattr(slave, TCSANOW, &attributes));
}

int main(void)
{
    master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    grantpt(master);
    unlockpt(master);
    slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_NONBLOCK);
    slave_says("one");
    type("\023k");
    slave_says("two");
    show_screen();
    type("\021");
    show_screen();
    slave_says("three");
    show_screen();
    SHOW(tcflow(slave, TCOOFF));
    type("\021");
    slave_says("four");
    SHOW(tcflow(slave, TCOON));
    slave_says("five");
    show_screen();
    SHOW(tcflow(slave, TCIOFF));
    SHOW(tcflow(slave, TCION));
    show_screen();
    SHOW(ioctl(slave, TCXONC, 9));
    type("\023");
    slave_says("six");
    set_input(IXANY, 0);
    type("x");
    slave_says("seven");
    show_screen();
    type("\023");
    set_input(0, IXON);
    slave_says("eight");
    type("\023\n");
    show_screen();
    return 0;
}
