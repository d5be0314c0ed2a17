/* call: openat, read; covers: a title that a program writes over its arguments and into its environment */
#include "check.h"

extern char **environ;

static void title(void)
{
    char text[300];
    int fd = open("/proc/self/cmdline", O_RDONLY);
    long size = read(fd, text, sizeof text);
    close(fd);
    for (long at = 0; at < size; at++)
        if (!text[at])
            text[at] = '|';
    say("%ld %.*s\n", size, (int)size, text);
}

int main(int count, char **words)
{
    if (count < 3) {
        char *const more[] = {"first", "second", "third", NULL};
        char *const variables[] = {"ONE=aaaaaaaaaaaaaaaaaaaaaaaa", "TWO=bbbbbbbbbbbbbbbbbbbb", NULL};
        return execve("/proc/self/exe", more, variables);
    }
    title();
    memset(words[0], 'x', 4);
    title();
    strcpy(words[0], "short title that goes on and on");
    title();
    memset(words[0], 'y', environ[1] - words[0] + 8);
    title();
    words[2][5] = 0;
    title();
    return 0;
}
