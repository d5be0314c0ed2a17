/* call: execve; covers: #! with and without an argument, and a script that interprets a script */
#include "check.h"

int main(int count, char **words)
{
    char line[PATH_MAX + 60];
    if (count > 1) {
        for (int index = 1; index < count; index++)
            say("[%s]\n", words[index]);
        return 0;
    }
    snprintf(line, sizeof line, "#!%s %s\n", self, program);
    put_file("script", line);
    snprintf(line, sizeof line, "#! \t%s   %s  \t\nmore", self, program);
    put_file("blanks", line);
    put_file("second", "#!./script with two words\n");
    chmod("script", 0755), chmod("blanks", 0755), chmod("second", 0755);
    const char *paths[] = {"script", "./blanks", "./second"};
    for (int index = 0; index < 3; index++) {
        pid_t child = fork();
        if (child == 0) {
            execl(paths[index], "name", "argument", (char *)NULL);
            say("%s: %s\n", paths[index], error_name(errno));
            _exit(1);
        }
        wait_for(child);
    }
    return 0;
}
