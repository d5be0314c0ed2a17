// Kills makers of shells, threads, pipes and shared memory at random moments. `shells SEED ROUNDS` ends with 0 if after each of them
// the processes, the threads and the free memory are as before.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "counts.h"

#define LONGEST 17     // The longest life of a maker is 2^17 us, the shortest is less than 2^5.
#define THREADS 4      // Threads of a maker at once.
#define PIECE 65536    // Bytes of a piece of shared memory.
#define LOOKS 1500     // Looks, 20 ms apart, in which all must have come back.

// Pipelines of shells, which stay behind if their maker is killed: their status, or -1.
static int make_shells(void) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        for (int stream = 0; stream < 3; stream++) dup2(null, stream);
        execlp("sh", "sh", "-c", "echo one | cat | cat; (sleep 0.01; echo two) | cat & wait", (char *) 0);
        _exit(126);
    }
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

// Pipes with bytes in them, one of which another process holds.
static void make_pipes(void) {
    int ends[2], pair[2];
    char bytes[2000] = {0};
    if (pipe(ends) == 0) {
        if (write(ends[1], bytes, sizeof bytes) < 0) _exit(3);
        pid_t child = fork();
        if (child == 0) _exit(read(ends[0], bytes, sizeof bytes) != sizeof bytes);
        if (child > 0) waitpid(child, 0, 0);
        close(ends[0]), close(ends[1]);
    }
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0) {
        if (write(pair[0], bytes, sizeof bytes) < 0) _exit(3);
        close(pair[0]), close(pair[1]);
    }
}

// Memory that a child shares, without a name and as a file.
static void make_shared(void) {
    int file = memfd_create("shells", MFD_CLOEXEC);
    char *named = file < 0 || ftruncate(file, PIECE) != 0 ? MAP_FAILED : mmap(0, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    char *piece = mmap(0, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        if (named != MAP_FAILED) memset(named, 1, PIECE);
        if (piece != MAP_FAILED) memset(piece, 1, PIECE);
        _exit(0);
    }
    if (child > 0) waitpid(child, 0, 0);
    if (named != MAP_FAILED) munmap(named, PIECE);
    if (piece != MAP_FAILED) munmap(piece, PIECE);
    if (file >= 0) close(file);
}

static void *work(void *number) {
    char *own = malloc(PIECE * 8);
    if (own) memset(own, 1, PIECE * 8);
    if ((long) number % 2) make_pipes();
    free(own);
    return 0;
}

static void make_threads(void) {
    pthread_t threads[THREADS];
    int count = 0;
    while (count < THREADS && pthread_create(&threads[count], 0, work, (void *) (long) count) == 0) count++;
    while (count > 0) pthread_join(threads[--count], 0);
}

// Makes all of this for ever, from another kind on in each round.
static void make(int kind) {
    for (;; kind++) {
        if (kind % 4 == 0) make_shells();
        if (kind % 4 == 1) make_threads();
        if (kind % 4 == 2) make_pipes();
        if (kind % 4 == 3) make_shared();
    }
}

static void reap(void) {
    while (waitpid(-1, 0, WNOHANG) > 0) {}
}

// Waits until no process is left but those that there were: what a killed maker has left ends by itself.
static int settle(int processes) {
    for (int look = 0; look < LOOKS; look++) {
        reap();
        if (entries(0) <= processes) return 1;
        usleep(20000);
    }
    printf("%d processes, and there were %d\n", entries(0), processes);
    show_processes();
    return 0;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    int rounds = atoi(words[2]), processes = entries(0);
    if (make_shells() != 0) {
        printf("no shell runs here\n");
        return 2;
    }
    seed(words[1]);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int round = 0; round < rounds + WARM; round++) {
        if (round == WARM) usleep(100000), count_before();
        pid_t child = fork();
        if (child < 0) {
            printf("no process any more after %d rounds: %s\n", round, strerror(errno));
            return 1;
        }
        if (child == 0) make(round);
        usleep(below(1 << (5 + below(LONGEST - 4))));
        kill(child, SIGKILL);
        waitpid(child, 0, 0);
        if (!settle(processes)) return 1;
        if (round >= WARM && count_after(reap) != 0) {
            printf("after round %d\n", round - WARM);
            return 1;
        }
    }
    return 0;
}
