// Kills makers of processes at random moments between fork and exec, and clients between requests; counts memory and processes
// before and after. `killed SEED COUNT` ends with 0 if all came back.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLACK 256 // KiB that caches may keep.
#define WARM 24   // Rounds before the first count: pools and tables reach their size.

static uint64_t state;

static uint64_t below(uint64_t end) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * 0x2545f4914f6cdd1dull >> 11) % end;
}

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

static int processes(void) {
    int count = 0;
    DIR *all = opendir("/proc");
    for (struct dirent *entry; all && (entry = readdir(all));) count += entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
    if (all) closedir(all);
    return count;
}

static long free_memory(void) {
    char text[4096];
    int file = open("/proc/meminfo", O_RDONLY);
    ssize_t size = file < 0 ? -1 : read(file, text, sizeof text - 1);
    close(file);
    if (size <= 0) return -1;
    text[size] = 0;
    char *line = strstr(text, "MemFree:");
    return line ? atol(line + 8) : -1;
}

static void reap(void) {
    while (waitpid(-1, 0, WNOHANG) > 0) {}
}

int main(int count, char **words) {
    if (count < 3) return 0;
    int rounds = atoi(words[2]), number_before = 0;
    long free_before = 0;
    state = strtoull(words[1], 0, 10) * 0x9e3779b97f4a7c15ull | 1;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int round = 0; round < rounds + WARM; round++) {
        if (round == WARM) reap(), usleep(100000), reap(), number_before = processes(), free_before = free_memory();
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
    // What the last processes had comes back a moment after their end.
    for (int look = 0; look < 50 && (reap(), processes() > number_before || free_memory() < free_before - SLACK); look++) usleep(20000);
    long lost = free_before - free_memory();
    if (processes() > number_before) printf("%d processes are left\n", processes() - number_before);
    if (lost > SLACK) printf("%ld KiB are lost\n", lost);
    return processes() > number_before || lost > SLACK;
}
