/* call: open, fcntl; covers: which flags F_GETFL shows */
#include "check.h"

static void flags(int given)
{
    int fd = open("f", given | O_CREAT, 0644);
    int shown = fcntl(fd, F_GETFL) & ~0100000;
    say("%#o: %#o, close on exec %d\n", given, shown, fcntl(fd, F_GETFD));
    close(fd);
}

int main(void)
{
    flags(O_RDONLY);
    flags(O_WRONLY);
    flags(O_RDWR | O_APPEND);
    flags(O_RDWR | O_NONBLOCK);
    flags(O_RDWR | O_CLOEXEC);
    flags(O_RDWR | O_TRUNC);
    flags(O_RDWR | O_SYNC);
    flags(O_RDWR | O_NOFOLLOW);
    flags(O_RDWR | O_NOCTTY);
    return 0;
}
