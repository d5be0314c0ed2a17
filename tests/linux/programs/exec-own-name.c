/* call: execve; covers: the name of a process that runs its own program by /proc/self/exe, and that of one that runs it by a link */
#include "check.h"

static void show(void)
{
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    say("%s\n", name);
    int file = open("/proc/self/comm", O_RDONLY);
    memset(name, 0, sizeof name);
    HOLDS(read(file, name, sizeof name - 1) > 0);
    close(file);
    say("%s", name);
}

int main(int count, char **words)
{
    char path[300] = "";
    if (count == 1) {
        readlink("/proc/self/exe", path, sizeof path - 1);
        symlink(path, "a-link-with-a-long-name");
        execl("/proc/self/exe", "itself", program, "1", NULL);
    } else if (words[1][0] == '1') {
        show();
        execl("a-link-with-a-long-name", "again", program, "2", NULL);
    } else
        show();
    return 0;
}
