/* call: fchmodat; covers: directories as starting points, links */
#include "check.h"

int main(void)
{
    struct stat status;
    mkdir("d", 0755);
    put_file("d/f", "");
    symlink("f", "d/link");
    int directory = open("d", O_RDONLY);
    SHOW(syscall(SYS_fchmodat, directory, "link", 0600));
    stat("d/f", &status);
    say("%o\n", status.st_mode);
    SHOW(syscall(SYS_fchmodat, 99, "f", 0600));
    SHOW(syscall(SYS_fchmodat, directory, "missing", 0600));
    return 0;
}
