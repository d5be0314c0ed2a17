/* call: vfork, execve; covers: the parent goes on after exec; descriptors are the child's own; also: musl dynamic */
#include "check.h"

int main(int count, char **words)
{
    if (count > 1) {
        say("in the other program\n");
        return 9;
    }
    int fd = open("/dev/null", O_RDONLY);
    pid_t child = vfork();
    if (child == 0) {
        close(fd);
        execl(self, self, program, "again", (char *)NULL);
        _exit(127);
    }
    wait_for(child);
    SHOW(fcntl(fd, F_GETFD));
    return 0;
}
