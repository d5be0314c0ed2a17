/* call: newfstatat; covers: the modes of links in /proc/self/fd; and: open, lstat */
#include "check.h"

static void mode_of(int file) {
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    lstat(path, &status);
    say("%o\n", status.st_mode);
}

int main(void) {
    mode_of(open("/dev/null", O_RDONLY));
    mode_of(open("/dev/null", O_WRONLY));
    mode_of(open("/dev/null", O_RDWR));
    mode_of(open("/proc/self/stat", O_RDONLY));
    mode_of(open(".", O_RDONLY | O_DIRECTORY));
    int ends[2];
    pipe(ends);
    mode_of(ends[0]);
    mode_of(ends[1]);
    mode_of(socket(AF_UNIX, SOCK_STREAM, 0));
    char bytes[16] = "";
    int file = open("/proc/sys/kernel/overflowuid", O_RDONLY);
    SHOW(read(file, bytes, sizeof bytes));
    say("%s", bytes);
    return 0;
}
