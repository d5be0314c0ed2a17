/* call: utime, utimes, futimesat; covers: the older calls */
#include "check.h"

#include <utime.h>

static void show(void)
{
    struct stat status;
    stat("f", &status);
    say("%ld.%09ld %ld.%09ld\n", (long)status.st_atim.tv_sec, status.st_atim.tv_nsec, (long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

int main(void)
{
    struct utimbuf seconds = {100, 200};
    struct timeval both[2] = {{300, 4}, {500, 6}};
    put_file("f", "");
    SHOW(syscall(SYS_utime, "f", &seconds));
    show();
    SHOW(syscall(SYS_utimes, "f", both));
    show();
    both[0].tv_sec = 11;
    SHOW(syscall(SYS_futimesat, AT_FDCWD, "f", both));
    show();
    both[0].tv_usec = 1000000;
    SHOW(syscall(SYS_utimes, "f", both));
    SHOW(syscall(SYS_utime, "missing", &seconds));
    return 0;
}
