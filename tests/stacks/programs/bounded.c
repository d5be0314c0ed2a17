// Makes processes, and then threads, until the system refuses, and says how many there were.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 300 };

static void *rest(void *nothing) {
    pause();
    return nothing;
}

static void processes(int they_end) {
    pid_t made[MOST];
    int count = 0;
    while (count < MOST && (made[count] = fork()) > 0) count++;
    if (count < MOST && made[count] == 0) {
        if (!they_end) pause();
        _exit(0);
    }
    printf("%d processes: %s\n", count, count < MOST ? strerrorname_np(errno) : "more");
    fflush(stdout);
    for (int i = 0; i < count; i++) {
        kill(made[i], SIGKILL);
        waitpid(made[i], NULL, 0);
    }
}

static void threads(void) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_t made;
    int count = 0, error = 0;
    while (count < MOST && (error = pthread_create(&made, &small, rest, NULL)) == 0) count++;
    printf("%d threads: %s\n", count, count < MOST ? strerrorname_np(error) : "more");
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    processes(0);
    processes(1);
    threads();
    return 0;
}
