/* call: execve; covers: the longest string, and the largest size of all of them, by the stack's limit */
#include "check.h"

static char large[131073];
static char *words[64], *none[] = { NULL };

/* Runs the program with words that take so many bytes, with the path and their addresses. */
static void run(long size)
{
    int count = 2;
    words[0] = self, words[1] = program;
    size -= 2 * (strlen(self) + 1) + strlen(program) + 1 + 16;
    for (; size > 131080; size -= 100009)
        words[count++] = large + 131072 - 100000;
    words[count++] = large + 131072 - (size - 9);
    words[count] = NULL;
    pid_t child = fork();
    if (child == 0) {
        execve(self, words, none);
        say("%s\n", error_name(errno));
        _exit(1);
    }
    wait_for(child);
}

int main(int count, char **arguments)
{
    struct rlimit limit;
    if (count > 1) {
        HOLDS(arguments[count - 1][0] == 'x');
        return 0;
    }
    memset(large, 'x', sizeof large - 1);
    HOLDS(strlen(large + 1) == 131071);
    words[0] = self, words[1] = program, words[2] = large;
    SHOW(execve(self, words, none));
    run(100000);
    run((2 << 20) + 1);
    getrlimit(RLIMIT_STACK, &limit);
    limit.rlim_cur = 1 << 20;
    SHOW(setrlimit(RLIMIT_STACK, &limit));
    run(256 << 10);
    run((256 << 10) + 1);
    limit.rlim_cur = 200 << 10;
    SHOW(setrlimit(RLIMIT_STACK, &limit));
    run((128 << 10) + 1);
    return 0;
}
