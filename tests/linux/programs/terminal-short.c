/* call: ioctl; covers: a terminal's attributes in their old, short form */
#include "check.h"

#include <asm/ioctls.h>

struct short_form {
    unsigned short input, output, control, local;
    unsigned char line, keys[8];
};

struct long_form {
    unsigned int input, output, control, local;
    unsigned char line, keys[19];
};

int main(void)
{
    struct short_form old;
    struct long_form now;
    int master = open("/dev/ptmx", O_RDWR | O_NOCTTY), zero = 0;
    ioctl(master, TIOCSPTLCK, &zero);
    int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
    SHOW(ioctl(slave, TCGETA, &old));
    SHOW(ioctl(slave, TCGETS, &now));
    HOLDS((old.local == (now.local & 0xffff)) && old.input == (now.input & 0xffff));
    HOLDS(memcmp(old.keys, now.keys, 8) == 0);
    old.local &= ~010;
    old.keys[0] = 7;
    SHOW(ioctl(slave, TCSETA, &old));
    SHOW(ioctl(slave, TCGETS, &now));
    say("%d %d\n", now.local & 010, now.keys[0]);
    old.local |= 010;
    SHOW(ioctl(slave, TCSETAW, &old));
    SHOW(ioctl(slave, TCSETAF, &old));
    SHOW(ioctl(slave, TCGETA, &old));
    say("%d %d\n", old.local & 010, old.keys[0]);
    SHOW(ioctl(slave, TCSETA, (void *)8));
    SHOW(ioctl(open("/dev/null", O_RDWR), TCGETA, &old));
    return 0;
}
