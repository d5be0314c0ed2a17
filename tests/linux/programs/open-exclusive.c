/* call: open; covers: O_EXCL with files, links and dangling links */
#include "check.h"

int main(void)
{
    put_file("f", "");
    symlink("missing", "dangling");
    SHOW(open("f", O_RDWR | O_CREAT | O_EXCL, 0644));
    SHOW(open("dangling", O_RDWR | O_CREAT | O_EXCL, 0644));
    SHOW(open("missing", O_RDWR));
    SHOW(open("dangling", O_RDWR | O_CREAT, 0644));
    SHOW(access("missing", F_OK));
    SHOW(open("new", O_RDWR | O_CREAT | O_EXCL, 0644));
    return 0;
}
