// Managers of memory, killed at random moments while programs use what they serve: `ended SEED ROUNDS PROGRAM` ends with 0 if all that used them
// ends, too, and if all memory, processes and threads come back.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "counts.h"

// Stacks of which any manager may go. The one that is killed is a random process of its group.
static char *stacks[][12] = {
    {"pager", "-m", "256K", "--chaos", "3"},
    {"dataspace", "anonymous", "-m", "256K", "--chaos", "4"},
    {"dataspace", "compressed", "-m", "1M", "pager", "-m", "256K", "--backing", "parent", "--chaos", "5"},
    {"pager", "-m", "512K", "process"},
    {"process", "dataspace", "pinned", "--quota", "8M"},
};

static void reap(void) {
    while (waitpid(-1, 0, WNOHANG) > 0) {}
}

static void start(char **stack, char *program) {
    char *command[20] = {0}, **word = command;
    while (*stack) *word++ = *stack++;
    *word++ = program, *word++ = "1", *word = "1000";
    int null = open("/dev/null", O_WRONLY);
    dup2(null, 1), dup2(null, 2);
    execvp(command[0], command);
    _exit(126);
}

int main(int count, char **words) {
    if (count < 4) return 2;
    int rounds = atoi(words[2]);
    seed(words[1]);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int round = 0; round < rounds + WARM; round++) {
        if (round == WARM) reap(), usleep(100000), reap(), count_before();
        pid_t child = fork();
        if (child < 0) {
            printf("no process any more after %d rounds: %s\n", round, strerror(errno));
            return 1;
        }
        if (child == 0) start(stacks[below(sizeof stacks / sizeof *stacks)], words[3]);
        usleep(below(1 << (10 + below(10))));
        kill(child, SIGKILL);
        int status = 0;
        if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) {
            printf("seed %s, round %d: status %x\n", words[1], round, status);
            return 1;
        }
        reap();
    }
    return count_after(reap);
}
