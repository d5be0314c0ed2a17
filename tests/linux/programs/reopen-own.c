/* call: open, read, lseek; covers: a name in /proc/self/fd opens the file once more */
#include "check.h"

int main(void)
{
    char link[32], text[8] = "";
    put_file("f", "abcdef");
    int first = open("f", O_RDONLY);
    SHOW(lseek(first, 3, SEEK_SET));
    snprintf(link, sizeof link, "/proc/self/fd/%d", first);
    int second = open(link, O_RDWR);
    HOLDS(second >= 0);
    SHOW(read(second, text, 2));
    say("%s\n", text);
    SHOW(lseek(first, 0, SEEK_CUR));
    int appending = open(link, O_WRONLY | O_APPEND);
    SHOW(write(appending, "g", 1));
    show_file("f");
    int place = open("f", O_PATH);
    snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    HOLDS(open(link, O_RDONLY) >= 0);
    SHOW(chmod("f", 0400));
    int folder = open(".", O_RDONLY | O_DIRECTORY);
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    HOLDS(open(link, O_RDONLY | O_DIRECTORY) >= 0);
    SHOW(open(link, O_WRONLY));
    return 0;
}
