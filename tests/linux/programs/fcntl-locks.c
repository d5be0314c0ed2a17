/* call: fcntl; covers: record locks of processes: conflicts, F_GETLK, release by close */
#include "check.h"

static void lock(int fd, int kind, long start, long length)
{
    struct flock range = {.l_type = kind, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
    say("lock %d %ld+%ld: ", kind, start, length);
    say("%s\n", fcntl(fd, F_SETLK, &range) == 0 ? "taken" : error_name(errno));
}

static void others(void)
{
    int fd = open("f", O_RDWR);
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
    SHOW(fcntl(fd, F_GETLK, &range));
    say("kind %d start %ld length %ld parent %d\n", range.l_type, (long)range.l_start, (long)range.l_len, range.l_pid == getppid());
    lock(fd, F_RDLCK, 10, 5);
    lock(fd, F_WRLCK, 10, 5);
    lock(fd, F_RDLCK, 30, 5);
    lock(fd, F_WRLCK, 100, 5);
}

int main(void)
{
    put_file("f", "");
    int fd = open("f", O_RDWR);
    lock(fd, F_RDLCK, 10, 10);
    lock(fd, F_WRLCK, 30, 10);
    in_child(others);
    lock(fd, F_WRLCK, 0, 0);
    in_child(others);
    close(open("f", O_RDONLY));
    in_child(others);
    lock(open("f", O_RDONLY), F_WRLCK, 0, 1);
    lock(fd, 77, 0, 1);
    lock(fd, F_RDLCK, -5, 1);
    return 0;
}
