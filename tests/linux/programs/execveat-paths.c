/* call: execveat; covers: by descriptor, by the empty path, links */
#include "check.h"

int main(int count, char **words)
{
    if (count > 1) {
        say("again with %s\n", words[1]);
        return 0;
    }
    char *first[] = {self, program, "one", NULL}, *second[] = {self, program, "two", NULL}, *none[] = {NULL};
    int fd = open(self, O_PATH), directory = open(".", O_RDONLY);
    symlink(self, "link");
    pid_t child = fork();
    if (child == 0)
        _exit(syscall(SYS_execveat, fd, "", first, none, AT_EMPTY_PATH));
    wait_for(child);
    child = fork();
    if (child == 0)
        _exit(syscall(SYS_execveat, directory, "link", second, none, 0));
    wait_for(child);
    SHOW(syscall(SYS_execveat, directory, "link", first, none, AT_SYMLINK_NOFOLLOW));
    SHOW(syscall(SYS_execveat, directory, "missing", first, none, 0));
    SHOW(syscall(SYS_execveat, 99, "link", first, none, 0));
    SHOW(syscall(SYS_execveat, fd, "", first, none, 0));
    SHOW(syscall(SYS_execveat, fd, "", first, none, 1));
    return 0;
}
