// Kills makers of processes at random moments between fork and exec, and clients between requests; counts memory and processes
// before and after. `killed SEED COUNT` ends with 0 if all came back.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counts.h"

// Makes processes for ever, each of which becomes this program again and ends.
static void make(const char *self) {
    for (;;) {
        pid_t child = fork();
        if (child == 0) {
            execl(self, self, (char *) 0);
            _exit(126);
        }
        waitpid(child, 0, 0);
    }
}

// Makes and drops things at every server for ever.
static void ask(void) {
    for (;;) {
        int ends[2], pair[2];
        char byte = 1;
        if (pipe(ends) == 0) {
            if (write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1) close(ends[0]), close(ends[1]);
        }
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0) close(pair[0]), close(pair[1]);
        void *shared = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared != MAP_FAILED) *(char *) shared = 1, munmap(shared, 65536);
        int file = open("/tmp", O_RDONLY | O_DIRECTORY);
        if (file >= 0) lockf(file, F_TEST, 0), close(file);
    }
}

static void reap(void) {
    while (waitpid(-1, 0, WNOHANG) > 0) {}
}

int main(int count, char **words) {
    if (count < 3) return 0;
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
        if (child == 0) {
            if (round % 2) make(words[0]);
            ask();
        }
        usleep(below(1 << (4 + below(12))));
        kill(child, SIGKILL);
        waitpid(child, 0, 0);
        reap();
    }
    return count_after(reap);
}
