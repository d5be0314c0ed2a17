/* call: execve; covers: as many words as fit, and E2BIG */
#include "check.h"

int main(int count, char **words)
{
    static char *many[40000], large[140000];
    if (count > 1) {
        say("%d words, last %s\n", count, words[count - 1]);
        return 0;
    }
    many[0] = self, many[1] = program;
    for (int index = 2; index < 10000; index++)
        many[index] = "word";
    pid_t child = fork();
    if (child == 0) {
        execv(self, many);
        say("%s\n", error_name(errno));
        _exit(1);
    }
    wait_for(child);
    memset(large, 'x', sizeof large - 1);
    many[3] = large, many[4] = NULL;
    SHOW(execv(self, many));
    for (int index = 2; index < 39999; index++)
        many[index] = large + 139000;
    SHOW(execv(self, many));
    return 0;
}
