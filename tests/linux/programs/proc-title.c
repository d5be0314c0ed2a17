/* call: openat, read; covers: a title that a program writes over its arguments and into its environment */
#include "check.h"

extern char **environ;

static long title(char *text, long room)
{
    int fd = open("/proc/self/cmdline", O_RDONLY);
    long size = read(fd, text, (size_t)room);
    close(fd);
    return size;
}

int main(int count, char **words)
{
    static char text[5000];
    long size = title(text, sizeof text);
    char *end = strchr(words[count - 1], 0) + 1, *start = end - size;
    HOLDS(end == environ[0]);
    HOLDS(!text[size - 1]);
    memset(start, 'y', (size_t)size);
    memset(end, 'z', 5);
    HOLDS(title(text, sizeof text) == size + (long)strlen(end) + 1);
    HOLDS(!strncmp(text + size, "zzzzz", 5));
    end[3] = 0;
    HOLDS(title(text, sizeof text) == size + 4);
    start[1] = 0;
    HOLDS(title(text, sizeof text) == 2);
    memset(start, 'y', (size_t)size - 1);
    start[size - 1] = 0;
    HOLDS(title(text, sizeof text) == size);
    return 0;
}
