/* call: getdents64, unlink; covers: entries that go while they are listed */
#include "check.h"

int main(void)
{
    char name[20];
    mkdir("d", 0755);
    for (int number = 0; number < 100; number++) {
        snprintf(name, sizeof name, "d/%d", number);
        close(open(name, O_CREAT | O_WRONLY, 0644));
    }
    DIR *directory = opendir("d");
    int removed = 0;
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.')
            removed += unlinkat(dirfd(directory), entry->d_name, 0) == 0;
    say("%d removed\n", removed);
    SHOW(rmdir("d"));
    rewinddir(directory);
    SHOW(readdir(directory) == NULL);
    return 0;
}
