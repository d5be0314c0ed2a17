/* For programs with processes that wait: how to know that they do. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Waits until a process, which makes one more call that waits, is in it. */
static void await_wait(int pid)
{
    char path[64], text[256], *end;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    do {
        usleep(1000);
        int file = open(path, O_RDONLY);
        ssize_t size = read(file, text, sizeof text - 1);
        close(file);
        text[size > 0 ? size : 0] = 0;
        end = strrchr(text, ')');
    } while (!end || end[2] != 'S');
}
