/* call: clone; covers: CLONE_VM, CLONE_FILES and CLONE_FS without a thread */
#include "check.h"

static char stack[65536] __attribute__((aligned(16)));
static int value;

static int child(void *argument)
{
    value = 7;
    open("/dev/null", O_RDONLY);
    chdir("d");
    return 4;
}

int main(void)
{
    char path[PATH_MAX];
    mkdir("d", 0755);
    pid_t id = clone(child, stack + sizeof stack, CLONE_VM | CLONE_FILES | CLONE_FS | SIGCHLD, NULL);
    wait_for(id);
    getcwd(path, sizeof path);
    say("%d %d %s\n", value, fcntl(3, F_GETFD), strrchr(path, '/'));
    return 0;
}
