/* call: stat, lstat, fstat; covers: missing files, files as directories, bad addresses */
#include "check.h"

int main(void)
{
    struct stat status;
    put_file("f", "");
    SHOW(stat("missing", &status));
    SHOW(stat("f/x", &status));
    SHOW(stat("", &status));
    SHOW(stat((char *)8, &status));
    SHOW(stat("f", (struct stat *)8));
    SHOW(lstat("missing", &status));
    SHOW(lstat("f/", &status));
    SHOW(fstat(77, &status));
    SHOW(fstat(0, (struct stat *)8));
    return 0;
}
