/* call: getdents64; covers: 500 entries, each once; also: musl dynamic */
#include "check.h"

int main(void)
{
    char name[20], seen[500] = "";
    mkdir("d", 0755);
    for (int number = 0; number < 500; number++) {
        snprintf(name, sizeof name, "d/%d", number);
        close(open(name, O_CREAT | O_WRONLY, 0644));
    }
    DIR *directory = opendir("d");
    int others = 0, twice = 0, missing = 0;
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] == '.')
            others++;
        else
            twice += seen[atoi(entry->d_name)]++;
    for (int number = 0; number < 500; number++)
        missing += !seen[number];
    say("%d others, %d twice, %d missing\n", others, twice, missing);
    closedir(directory);
    return 0;
}
