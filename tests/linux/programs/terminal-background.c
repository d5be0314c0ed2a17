/* call: ioctl, read, write, setpgid; covers: who reads or changes a terminal from the background is stopped; orphans; a terminal that stops output */
#include "check.h"

#include <termios.h>

static int master, slave;

static void reader(void)
{
    char text[20] = "";
    setpgid(0, 0);
    int count = read(slave, text, sizeof text);
    say("background read %d %.*s\n", count, count > 0 ? count - 1 : 0, text);
}

static void stubborn(void)
{
    char text[20];
    setpgid(0, 0);
    handle(SIGTTIN, SIG_IGN, 0);
    SHOW(read(slave, text, sizeof text));
    handle(SIGTTOU, SIG_IGN, 0);
    SHOW(tcsetpgrp(slave, getpgrp()));
    HOLDS(tcgetpgrp(slave) == getpgrp());
}

static void came(int number)
{
    say("%s\n", signal_name(number));
}

static void changer(void)
{
    struct termios modes;
    setpgid(0, 0);
    handle(SIGTTOU, came, 0);
    SHOW(tcgetattr(slave, &modes));
    SHOW(tcsetattr(slave, TCSANOW, &modes));
    SHOW(tcsetpgrp(slave, getpgrp()));
    SHOW(write(slave, "out\n", 4));
    nap(20);
    SHOW(write(slave, "out\n", 4));
}

static void orphan(void)
{
    char text[20];
    setpgid(0, 0);
    await_step(1);
    SHOW(read(slave, text, sizeof text));
    reach_step(2);
}

static void parent_of_orphan(void)
{
    make_child(orphan);
}

static void leader(void)
{
    int status;
    struct termios modes;
    setsid();
    SHOW(ioctl(slave, TIOCSCTTY, 0));
    HOLDS(tcgetpgrp(slave) == getpgrp() && tcgetpgrp(master) == getpgrp());
    pid_t child = make_child(reader);
    waitpid(child, &status, WUNTRACED);
    show_status(status);
    handle(SIGTTOU, SIG_IGN, 0);
    SHOW(tcsetpgrp(slave, child));
    kill(-child, SIGCONT);
    nap(20);
    write(master, "keys\n", 5);
    waitpid(child, &status, 0);
    show_status(status);
    SHOW(tcsetpgrp(slave, getpgrp()));
    in_child(stubborn);
    tcsetpgrp(slave, getpgrp());
    in_child(changer);
    tcgetattr(slave, &modes);
    modes.c_lflag |= TOSTOP;
    tcsetattr(slave, TCSANOW, &modes);
    in_child(changer);
    modes.c_lflag &= ~TOSTOP;
    tcsetattr(slave, TCSANOW, &modes);
    in_child(parent_of_orphan);
    reach_step(1);
    await_step(2);
}

int main(void)
{
    master = posix_openpt(O_RDWR | O_NOCTTY);
    grantpt(master), unlockpt(master);
    slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    begin_steps();
    in_child(leader);
    return 0;
}
