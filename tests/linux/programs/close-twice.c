/* call: close; covers: closed descriptors, and numbers that come again; also: musl dynamic */
#include "check.h"

int main(void)
{
    int fd = open("/dev/null", O_RDONLY), other = open("/dev/null", O_RDONLY);
    SHOW(fd);
    SHOW(other);
    SHOW(close(fd));
    SHOW(close(fd));
    SHOW(close(-1));
    SHOW(close(5000000));
    SHOW(open("/dev/null", O_RDONLY));
    SHOW(close(other));
    return 0;
}
