/* call: open, read; covers: /proc/self/stat, status, cmdline, maps and /proc/meminfo */
#include "check.h"

static void has(const char *path, const char *what)
{
    static char text[100000];
    int fd = open(path, O_RDONLY);
    ssize_t length = fd == -1 ? -1 : read(fd, text, sizeof text - 1);
    if (length >= 0)
        text[length] = 0;
    say("%s: %s\n", path, length < 0 ? error_name(errno) : strstr(text, what) ? "good" : "odd");
    close(fd);
}

int main(void)
{
    has("/proc/self/cmdline", "");
    has("/proc/self/stat", ") R ");
    has("/proc/self/status", "PPid:");
    has("/proc/self/maps", "[stack]");
    has("/proc/meminfo", "MemTotal:");
    has("/proc/cpuinfo", "processor");
    has("/proc/uptime", ".");
    has("/proc/mounts", " / ");
    has("/proc/999999/stat", "");
    return 0;
}
