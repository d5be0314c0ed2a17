/* call: ftruncate, truncate; covers: negative sizes, files that are only read, directories, pipes */
#include "check.h"

int main(void)
{
    int ends[2];
    put_file("f", "abc");
    mkdir("d", 0755);
    SHOW(ftruncate(open("f", O_RDWR), -1));
    SHOW(ftruncate(open("f", O_RDONLY), 1));
    SHOW(ftruncate(77, 1));
    pipe(ends);
    SHOW(ftruncate(ends[1], 1));
    SHOW(truncate("f", -1));
    SHOW(truncate("d", 1));
    SHOW(truncate("missing", 1));
    SHOW(truncate("f/x", 1));
    SHOW(truncate("f", 2));
    show_file("f");
    return 0;
}
