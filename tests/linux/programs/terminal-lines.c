/* call: read, write, ioctl, poll; covers: a terminal's lines: erasing, ends of files, keys that are signals, least bytes and limits of time, both sides' ends */
#include "check.h"

#include <termios.h>

static int master, slave;

static void show_text(const char *what, const char *text, int count)
{
    char line[400];
    int at = snprintf(line, sizeof line, "%s %d:", what, count);
    for (int index = 0; index < count && at < 380; index++)
        at += snprintf(line + at, sizeof line - at, text[index] > 32 && text[index] < 127 ? "%c" : "<%02x>", (unsigned char)text[index]);
    say("%s\n", line);
}

static void take(const char *what, int end, int size)
{
    char text[200];
    errno = 0;
    int count = read(end, text, size);
    if (count < 0)
        say("%s %s\n", what, error_name(errno));
    else
        show_text(what, text, count);
}

static void type(const char *keys)
{
    write(master, keys, strlen(keys));
    take("echo", master, 200);
}

static int ready(int end)
{
    struct pollfd entry = {end, POLLIN | POLLOUT, 0};
    poll(&entry, 1, 0);
    return entry.revents;
}

int main(void)
{
    struct termios modes, old;
    int count;
    master = posix_openpt(O_RDWR | O_NOCTTY);
    char *name = ptsname(master);
    SHOW(open(name, O_RDWR | O_NOCTTY));
    grantpt(master), unlockpt(master);
    slave = open(name, O_RDWR | O_NOCTTY);
    struct stat state, named;
    fstat(slave, &state), stat(name, &named);
    say("%o %d %d\n", state.st_mode & S_IFMT, (int)(state.st_rdev >> 8), state.st_rdev == named.st_rdev && state.st_ino == named.st_ino);
    HOLDS(strcmp(ttyname(slave), name) == 0);
    tcgetattr(slave, &old);
    say("%x %x %x %x\n", old.c_iflag, old.c_oflag, old.c_cflag & ~CBAUD, old.c_lflag);
    fcntl(slave, F_SETFL, O_NONBLOCK);
    take("nothing", slave, 10);
    type("ab\177c\n");
    HOLDS(ready(slave) == (POLLIN | POLLOUT));
    SHOW(ioctl(slave, FIONREAD, &count));
    say("%d\n", count);
    take("line", slave, 2);
    take("rest", slave, 20);
    type("one two\027three\r");
    take("line", slave, 20);
    type("gone\025kept\n");
    take("line", slave, 20);
    type("no end\004");
    take("line", slave, 20);
    write(master, "\004", 1);
    take("end", slave, 20);
    type("first\nsecond\n");
    take("line", slave, 20);
    take("line", slave, 20);
    type("\026\003\n");
    take("line", slave, 20);
    type("half");
    SHOW(tcflush(slave, TCIFLUSH));
    type("\n");
    take("line", slave, 20);
    write(slave, "x\ty\n", 4);
    take("screen", master, 20);
    modes = old;
    modes.c_oflag |= XTABS;
    modes.c_lflag &= ~ECHO;
    SHOW(tcsetattr(slave, TCSADRAIN, &modes));
    write(slave, "x\ty\n", 4);
    take("screen", master, 20);
    write(master, "quiet\n", 6);
    take("line", slave, 20);
    fcntl(slave, F_SETFL, 0);
    modes.c_lflag &= ~ICANON;
    modes.c_cc[VMIN] = 0, modes.c_cc[VTIME] = 0;
    SHOW(tcsetattr(slave, TCSANOW, &modes));
    take("at once", slave, 20);
    HOLDS(ready(slave) == POLLOUT);
    modes.c_cc[VTIME] = 1;
    SHOW(tcsetattr(slave, TCSANOW, &modes));
    take("after a while", slave, 20);
    write(master, "k", 1);
    take("key", slave, 20);
    modes.c_cc[VMIN] = 3, modes.c_cc[VTIME] = 0;
    SHOW(tcsetattr(slave, TCSANOW, &modes));
    write(master, "kl", 2);
    HOLDS(ready(slave) == POLLOUT);
    take("short", slave, 1);
    write(master, "mn", 2);
    take("three", slave, 20);
    modes.c_cc[VMIN] = 5, modes.c_cc[VTIME] = 1;
    SHOW(tcsetattr(slave, TCSANOW, &modes));
    write(master, "op", 2);
    take("two in time", slave, 20);
    cfmakeraw(&modes);
    SHOW(tcsetattr(slave, TCSAFLUSH, &modes));
    return 0;
}
