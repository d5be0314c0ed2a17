// Bombs, each by its name: it goes on until the system refuses, says how it was refused, and ends or is ended. `free` says what memory is free.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int handled;

static void refused(const char *what, int error) { printf("%s: %s\n", what, strerrorname_np(error)); }

static void handle(int number) { handled++; }

static void *wait_for_ever(void *argument) {
    pause();
    return argument;
}

// All of the group but the caller go, and are waited for.
static void end_others(int made) {
    int status, gone = 0;
    signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM);
    while (wait(&status) > 0) gone++;
    printf("%s\n", gone == made ? "all gone" : "some are lost");
}

// Processes that wait, and such that have ended and are not waited for.
static void forks(int they_wait) {
    int made = 0;
    pid_t child;
    setpgid(0, 0);
    while ((child = fork()) > 0) made++;
    if (child == 0) {
        if (they_wait) pause();
        _exit(0);
    }
    refused("fork", errno);
    end_others(made);
}

// Each child forks as well, and nobody waits.
static void tree(void) {
    for (int round = 0; round < 8; round++) fork();
    _exit(0);
}

static void threads(void) {
    int error;
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16384);
    while ((error = pthread_create(&thread, &small, wait_for_ever, NULL)) == 0) continue;
    refused("thread", error);
}

// Threads that make threads, for ever.
static void *breed(void *argument) {
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16384);
    for (;;)
        if (pthread_create(&thread, &small, breed, NULL) != 0) usleep(1000);
    return argument;
}

static int open_one(const char *kind) {
    int ends[2];
    if (strcmp(kind, "pipes") == 0) return pipe(ends);
    if (strcmp(kind, "sockets") == 0) return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    if (strcmp(kind, "memory") == 0) return memfd_create("one", 0);
    return open("/", O_RDONLY | O_DIRECTORY);
}

// As many processes as it takes, each with all the descriptors that it may have.
static void descriptors(const char *kind) {
    int made = 0, ready[2], error = EMFILE;
    setpgid(0, 0);
    pipe(ready);
    for (; made < 30 && error == EMFILE; made++) {
        pid_t child = fork();
        if (child < 0) break;
        if (child == 0) {
            while (open_one(kind) >= 0) continue;
            error = errno;
            write(ready[1], &error, sizeof error);
            pause();
        }
        read(ready[0], &error, sizeof error);
    }
    printf("%s: %s\n", kind, error == ENFILE || error == ENOMEM ? "refused" : "?");
    end_others(made);
}

// All memory, in ever smaller pieces. Private memory is promised, and who touches more than there is ends; shared memory is there at once, or refused.
static void take_all(int sharing) {
    for (size_t size = 1 << 22; size >= 4096; size /= 2)
        for (;;) {
            char *place = mmap(NULL, size, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
            if (place == MAP_FAILED) break;
            for (size_t at = 0; at < size; at += 4096) place[at] = 1;
        }
}

static void memory(void) {
    take_all(MAP_PRIVATE);
    refused("mmap", errno);
}

// Goes on making what takes memory where there is none: if it does not end, it is told so; if it is ended, it is as if killed for lack of memory.
static void starve(void) {
    int ends[2], status;
    pthread_t thread;
    if (fork() == 0) {
        take_all(MAP_SHARED);
        for (int round = 0; round < 300; round++) {
            if (fork() == 0) _exit(0);
            open("/", O_RDONLY);
            pipe(ends);
            socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
            pthread_create(&thread, NULL, wait_for_ever, NULL);
            signal(SIGUSR1, handle);
        }
        _exit(0);
    }
    wait(&status);
    printf("%s\n", status == 0 || status == SIGKILL ? "starved" : "?");
}

static int deep(volatile char *before) {
    volatile char room[4000];
    room[0] = before ? before[0] : 0;
    return deep(room) + room[1];
}

static void storm(void) {
    int status;
    pid_t child = fork();
    if (child == 0)
        for (;;) pause();
    for (int round = 0; round < 1000; round++) {
        kill(child, SIGCONT);
        kill(child, round % 20 == 0 ? SIGSTOP : SIGWINCH);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    printf("storm: %x\n", status);
}

static int queue_to(pid_t process) {
    int sent = 0;
    while (sent < 10000 && sigqueue(process, SIGRTMIN, (union sigval){.sival_int = 1}) == 0) sent++;
    refused("queue", errno);
    return sent;
}

static void queue(void) {
    sigset_t set;
    struct rlimit limit = {100, 100};
    setrlimit(RLIMIT_SIGPENDING, &limit);
    signal(SIGRTMIN, handle);
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int sent = queue_to(getpid());
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    printf("%s\n", sent == handled ? "all came" : "some are lost");
    sigprocmask(SIG_BLOCK, &set, NULL);
    pid_t child = fork();
    if (child == 0)
        for (;;) pause();
    queue_to(child);
    kill(child, SIGKILL);
    wait(NULL);
}

// Zeros over the library below the program, from its first byte on.
static void library(void) {
    int status;
    pid_t child = fork();
    if (child == 0)
        for (unsigned long at = 0x7e0000000000;; at += 8) *(volatile unsigned long *)at = 0;
    waitpid(child, &status, 0);
    printf("%s\n", WIFSIGNALED(status) ? "dead" : "?");
}

static long free_memory(void) {
    struct sysinfo info;
    sysinfo(&info);
    return info.freeram >> 10;
}

// Whether as much memory is free as was before, soon: what nobody refers to any more goes in the background.
static void back(const char *before) {
    for (int round = 0; round < 300 && free_memory() < atol(before) - 64; round++) usleep(100000);
    if (free_memory() < atol(before) - 64) printf("%s KiB before, %ld after\n", before, free_memory());
    else printf("back\n");
}

int main(int count, char **words) {
    const char *which = count > 1 ? words[1] : "";
    setvbuf(stdout, NULL, _IONBF, 0);
    if (strcmp(which, "forks") == 0) forks(1);
    else if (strcmp(which, "zombies") == 0) forks(0);
    else if (strcmp(which, "tree") == 0) tree();
    else if (strcmp(which, "threads") == 0) threads();
    else if (strcmp(which, "breed") == 0) breed(NULL);
    else if (strcmp(which, "descriptors") == 0) descriptors(words[2]);
    else if (strcmp(which, "memory") == 0) memory();
    else if (strcmp(which, "starve") == 0) starve();
    else if (strcmp(which, "deep") == 0) deep(NULL);
    else if (strcmp(which, "storm") == 0) storm();
    else if (strcmp(which, "queue") == 0) queue();
    else if (strcmp(which, "library") == 0) library();
    else if (strcmp(which, "free") == 0) printf("%ld\n", free_memory());
    else if (strcmp(which, "back") == 0) back(words[2]);
    return 0;
}
