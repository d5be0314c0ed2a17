/* call: read, write, poll, ioctl, open; covers: what is left of a terminal when one side has gone; several terminals */
#include "check.h"

#include <termios.h>

static int events(int end)
{
    struct pollfd entry = {end, POLLIN | POLLOUT, 0};
    poll(&entry, 1, 0);
    return entry.revents;
}

static int slave;

static void late(void)
{
    char text[10];
    SHOW(read(slave, text, 10));
}

int main(void)
{
    char text[100], name[50];
    struct winsize size = {0};
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    int number = -1, locked = -1;
    SHOW(ioctl(master, TIOCGPTN, &number));
    HOLDS(number >= 0);
    SHOW(ioctl(master, TIOCGPTLCK, &locked));
    say("%d\n", locked);
    snprintf(name, sizeof name, "/dev/pts/%d", number);
    SHOW(access(name, F_OK));
    unlockpt(master);
    fcntl(master, F_SETFL, O_NONBLOCK);
    SHOW(read(master, text, 10));
    say("%x\n", events(master));
    slave = open(name, O_RDWR | O_NOCTTY);
    int other = open(name, O_RDWR | O_NOCTTY);
    int peer = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
    HOLDS(peer >= 0 && isatty(peer));
    write(peer, "bye\n", 4);
    close(peer), close(slave);
    SHOW(read(master, text, 100));
    SHOW(read(master, text, 100));
    close(other);
    SHOW(read(master, text, 100));
    say("%x\n", events(master));
    slave = open(name, O_RDWR | O_NOCTTY);
    SHOW(read(master, text, 100));
    say("%x\n", events(master));
    SHOW(ioctl(slave, TIOCGWINSZ, &size));
    say("%d %d\n", size.ws_row, size.ws_col);
    int second = posix_openpt(O_RDWR | O_NOCTTY), wanted = 0;
    ioctl(second, TIOCGPTN, &wanted);
    HOLDS(wanted != number);
    close(second);
    SHOW(ioctl(slave, TIOCGPTN, &number));
    SHOW(lseek(slave, 0, SEEK_SET));
    SHOW(write(slave, "left", 4));
    fcntl(master, F_SETFD, FD_CLOEXEC);
    pid_t child = fork();
    if (child == 0) {
        close(master);
        late();
        _exit(0);
    }
    nap(30);
    close(master);
    wait_for(child);
    SHOW(read(slave, text, 10));
    SHOW(write(slave, "x", 1));
    SHOW(tcgetattr(slave, &(struct termios){0}));
    say("%x\n", events(slave));
    SHOW(open(name, O_RDWR | O_NOCTTY));
    return 0;
}
