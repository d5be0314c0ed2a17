/* call: fork, wait4; covers: forty children at once, each waited for once; also: musl */
#include "check.h"

int main(void)
{
    int seen[40] = {0}, status, count = 0, wrong = 0;
    for (int number = 0; number < 40; number++)
        if (fork() == 0)
            _exit(number);
    while (wait(&status) > 0) {
        wrong += !WIFEXITED(status) || seen[WEXITSTATUS(status)]++;
        count++;
    }
    say("%d children, %d wrong\n", count, wrong);
    return 0;
}
