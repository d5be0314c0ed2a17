/* call: getdents64, lseek; covers: telldir and seekdir find a place again */
#include "check.h"

int main(void)
{
    char name[20], found[200][20];
    int count = 0;
    for (int number = 0; number < 100; number++) {
        snprintf(name, sizeof name, "f%d", number);
        close(open(name, O_CREAT | O_WRONLY, 0644));
    }
    DIR *directory = opendir(".");
    for (int index = 0; index < 40; index++)
        readdir(directory);
    long place = telldir(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        snprintf(found[count++], 20, "%.19s", entry->d_name);
    seekdir(directory, place);
    int same = 0;
    for (struct dirent *entry; (entry = readdir(directory));)
        same += strcmp(found[same], entry->d_name) == 0;
    HOLDS(same == count && count == 62);
    return 0;
}
