/* call: open, mkdir, rmdir, unlink; covers: trailing slashes and dots */
#include "check.h"

int main(void)
{
    struct stat status;
    put_file("f", "");
    SHOW(mkdir("d/", 0755));
    SHOW(open("d//.", O_RDONLY));
    SHOW(open(".//d/../f", O_RDONLY));
    SHOW(stat("f/", &status));
    SHOW(stat("f/..", &status));
    SHOW(unlink("f/"));
    SHOW(mkdir(".", 0755));
    SHOW(mkdir("..", 0755));
    SHOW(rmdir("."));
    SHOW(rmdir("d/.."));
    SHOW(rmdir("d/."));
    SHOW(rename("d", "e/"));
    SHOW(rename("f", "g/"));
    SHOW(rmdir("e/"));
    return 0;
}
