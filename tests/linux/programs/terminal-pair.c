/* call: ioctl, open, read, write; covers: a pseudo-terminal: lines, echo, raw */
#include "check.h"

#include <termios.h>

int main(void)
{
    char text[100] = "", *name;
    struct termios modes;
    struct winsize size = {24, 80, 0, 0};
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    HOLDS(master >= 0);
    if (master < 0)
        return 1;
    SHOW(grantpt(master) | unlockpt(master));
    name = ptsname(master);
    HOLDS(name && strncmp(name, "/dev/pts/", 9) == 0);
    int slave = open(name, O_RDWR | O_NOCTTY);
    HOLDS(isatty(slave) && isatty(master));
    write(master, "hello\n", 6);
    SHOW(read(slave, text, sizeof text));
    SHOW(read(master, text, sizeof text));
    SHOW(tcgetattr(slave, &modes));
    cfmakeraw(&modes);
    SHOW(tcsetattr(slave, TCSANOW, &modes));
    write(master, "x", 1);
    SHOW(read(slave, text, sizeof text));
    write(slave, "a\nb", 3);
    SHOW(read(master, text, sizeof text));
    SHOW(ioctl(master, TIOCSWINSZ, &size));
    SHOW(ioctl(slave, TIOCGWINSZ, &size));
    say("%d %d\n", size.ws_row, size.ws_col);
    return 0;
}
