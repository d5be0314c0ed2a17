/* call: fork, wait4; covers: a chain of twelve generations */
#include "check.h"

static int level;

static void next(void)
{
    level++;
    int status = 0;
    if (level < 12) {
        pid_t child = make_child(next);
        waitpid(child, &status, 0);
    }
    _exit(level == 12 ? 12 : WEXITSTATUS(status) + 1);
}

int main(void)
{
    in_child(next);
    return 0;
}
