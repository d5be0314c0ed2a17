/* call: ioctl, setsid; covers: a controlling terminal, its foreground group, Ctrl-C */
#include "check.h"

#include <termios.h>

static int master;
static char *name;

static void handler(int number)
{
    say("%s\n", signal_name(number));
}

static void child(void)
{
    setsid();
    int slave = open(name, O_RDWR);
    HOLDS(tcgetsid(slave) == getpid());
    HOLDS(tcgetpgrp(slave) == getpgrp());
    handle(SIGINT, handler, 0);
    write(master, "\003", 1);
    nap(20);
    SHOW(tcsetpgrp(slave, 999999));
    SHOW(open("/dev/tty", O_RDWR) >= 0);
}

int main(void)
{
    master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0)
        return 1;
    grantpt(master), unlockpt(master);
    name = ptsname(master);
    in_child(child);
    return 0;
}
