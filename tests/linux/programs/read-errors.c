/* call: read; covers: descriptors that are not open or only for writing, bad addresses, directories */
#include "check.h"

int main(void)
{
    char byte;
    put_file("f", "12345");
    SHOW(read(-1, &byte, 1));
    SHOW(read(100, &byte, 1));
    SHOW(read(open("f", O_WRONLY), &byte, 1));
    SHOW(read(open(".", O_RDONLY), &byte, 1));
    SHOW(read(open("f", O_RDONLY), (void *)8, 1));
    SHOW(read(open("f", O_RDONLY), (void *)-4096L, 5));
    return 0;
}
