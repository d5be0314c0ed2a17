/* call: write; covers: descriptors that are not open or only for reading, bad addresses */
#include "check.h"

int main(void)
{
    put_file("f", "12345");
    SHOW(write(-1, "x", 1));
    SHOW(write(100, "x", 1));
    SHOW(write(open("f", O_RDONLY), "x", 1));
    SHOW(write(open("f", O_WRONLY), (void *)8, 1));
    SHOW(write(open("f", O_WRONLY), (void *)8, 0));
    SHOW(write(open("/dev/full", O_WRONLY), "x", 1));
    show_file("f");
    return 0;
}
