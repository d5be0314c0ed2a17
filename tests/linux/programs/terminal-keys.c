/* call: ioctl, kill, write, setsid; covers: keys and changes of size as signals to the foreground, the end of a terminal, /dev/tty */
#include "check.h"

#include <termios.h>

static int master;
static char name[50];

static void came(int number)
{
    say("%s\n", signal_name(number));
}

static void catch_all(void)
{
    handle(SIGINT, came, 0), handle(SIGQUIT, came, 0), handle(SIGTSTP, came, 0), handle(SIGWINCH, came, 0);
    handle(SIGHUP, came, 0);
}

static void stopped(void)
{
    handle(SIGTSTP, SIG_DFL, 0), handle(SIGCONT, SIG_DFL, 0);
    setpgid(0, 0);
    reach_step(1);
    await_step(2);
    say("went on\n");
}

static void leader(void)
{
    int status, own, found;
    struct winsize size = {10, 20, 0, 0};
    SHOW(setsid() == getpid());
    SHOW(open("/dev/tty", O_RDWR));
    int slave = open(name, O_RDWR);
    HOLDS(tcgetsid(slave) == getpid());
    own = open("/dev/tty", O_RDWR);
    HOLDS(own >= 0 && isatty(own));
    catch_all();
    write(master, "\003", 1);
    nap(20);
    write(master, "\034", 1);
    nap(20);
    write(master, "\032", 1);
    nap(20);
    for (int round = 0; round < 2; round++) {
        int result = ioctl(master, TIOCSWINSZ, &size);
        nap(20);
        say("size %d\n", result);
    }
    pid_t child = make_child(stopped);
    setpgid(child, child);
    handle(SIGTTOU, SIG_IGN, 0);
    SHOW(tcsetpgrp(slave, child));
    await_step(1);
    write(master, "\032", 1);
    found = waitpid(child, &status, WUNTRACED);
    HOLDS(found == child);
    show_status(status);
    kill(-child, SIGCONT);
    reach_step(2);
    wait_for(child);
    SHOW(tcsetpgrp(slave, 999999));
    SHOW(tcsetpgrp(slave, -1));
    SHOW(ioctl(slave, TIOCSCTTY, 0));
    tcsetpgrp(slave, getpgrp());
    SHOW(write(own, "own\n", 4));
    close(own), close(slave);
    say("closing\n");
    close(master);
    nap(40);
    SHOW(open("/dev/tty", O_RDWR));
}

int main(void)
{
    master = posix_openpt(O_RDWR | O_NOCTTY);
    grantpt(master), unlockpt(master);
    strcpy(name, ptsname(master));
    begin_steps();
    pid_t child = make_child(leader);
    close(master);
    wait_for(child);
    return 0;
}
