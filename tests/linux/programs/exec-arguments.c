/* call: execve; covers: words and environment; also: musl dynamic */
#include "check.h"

int main(int count, char **words)
{
    if (count > 1) {
        say("%d words\n", count);
        for (int index = 1; index < count; index++)
            say("[%s]\n", words[index]);
        say("NAME=%s PATH=%s\n", getenv("NAME"), getenv("PATH") ? "there" : "not there");
        return 4;
    }
    char *arguments[] = {self, program, "one", "", "two words", "\303\244", NULL}, *environment[] = {"NAME=value", NULL};
    pid_t own = getpid();
    if (fork() == 0) {
        execve(self, arguments, environment);
        say("%s\n", error_name(errno));
        _exit(1);
    }
    int status;
    wait(&status);
    show_status(status);
    HOLDS(own == getpid());
    return 0;
}
