/* call: unlink; covers: directories, missing names, links; also: musl */
#include "check.h"

int main(void)
{
    mkdir("d", 0755);
    put_file("f", "");
    symlink("f", "link");
    SHOW(unlink("d"));
    SHOW(unlink("missing"));
    SHOW(unlink("f/x"));
    SHOW(unlink(""));
    SHOW(unlink("link"));
    SHOW(access("f", F_OK));
    SHOW(unlink("f"));
    SHOW(unlink("f"));
    SHOW(unlink((char *)8));
    return 0;
}
