/* call: utimensat; covers: given times, now, omitted, by descriptor; also: musl */
#include "check.h"

static void show(void)
{
    struct stat status;
    stat("f", &status);
    say("%ld.%09ld %ld.%09ld\n", (long)status.st_atim.tv_sec, status.st_atim.tv_nsec, (long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

int main(void)
{
    struct timespec times[2] = {{1000000000, 5}, {1234567890, 987654321}};
    struct stat status;
    put_file("f", "");
    SHOW(utimensat(AT_FDCWD, "f", times, 0));
    show();
    times[0].tv_nsec = UTIME_OMIT, times[1].tv_sec = 5;
    SHOW(utimensat(AT_FDCWD, "f", times, 0));
    show();
    times[0].tv_nsec = times[1].tv_nsec = UTIME_OMIT;
    SHOW(utimensat(AT_FDCWD, "f", times, 0));
    show();
    times[0] = (struct timespec){7, 8}, times[1] = (struct timespec){0, UTIME_NOW};
    SHOW(futimens(open("f", O_RDONLY), times));
    stat("f", &status);
    HOLDS(status.st_atim.tv_sec == 7 && status.st_mtim.tv_sec > 5);
    SHOW(utimensat(AT_FDCWD, "f", NULL, 0));
    stat("f", &status);
    HOLDS(status.st_atim.tv_sec > 7);
    return 0;
}
