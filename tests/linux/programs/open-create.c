/* call: open; covers: O_CREAT, modes, the umask, existing files; also: musl dynamic */
#include "check.h"

int main(void)
{
    struct stat status;
    SHOW(open("f", O_RDWR));
    SHOW(open("f", O_RDWR | O_CREAT, 0777));
    stat("f", &status);
    say("%o\n", status.st_mode);
    SHOW(open("f", O_RDWR | O_CREAT, 0));
    stat("f", &status);
    say("%o\n", status.st_mode);
    SHOW(open("g", O_RDONLY | O_CREAT, 0400));
    SHOW(open("h", O_RDWR | O_CREAT, 0));
    stat("h", &status);
    say("%o\n", status.st_mode);
    return 0;
}
