// Processes that wait for each other's record locks, in a circle: whoever would close it gets EDEADLK, and when one is killed the others go on.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "waits.h"

#define MANY 8

static int lock(int file, int how, int kind, int byte) {
    struct flock one = {.l_type = kind, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(file, how, &one);
}

// Takes its own byte, says so, and waits for the next one's when all have theirs.
static void wait_in_chain(const char *path, int place, volatile int *words) {
    int file = open(path, O_RDWR);
    if (lock(file, F_SETLK, F_WRLCK, place) == 0) __sync_fetch_and_add(words, 1);
    while (!words[1]) sched_yield();
    _exit(lock(file, F_SETLKW, F_WRLCK, place + 1) != 0);
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    int file = open(arguments[1], O_RDWR | O_CREAT, 0600), status, ended = 0;
    volatile int *words = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t all[MANY];
    if (file < 0 || words == MAP_FAILED || lock(file, F_SETLK, F_WRLCK, MANY)) return 1;
    for (int place = 0; place < MANY; place++)
        if ((all[place] = fork()) == 0) wait_in_chain(arguments[1], place, words);
    while (words[0] < MANY) usleep(1000);
    words[1] = 1;
    for (int place = 0; place < MANY; place++) await_wait(all[place]);
    printf("closing the circle: %s\n", lock(file, F_SETLKW, F_WRLCK, 0) && errno == EDEADLK ? "EDEADLK" : "no");
    kill(all[0], SIGKILL);
    waitpid(all[0], &status, 0);
    printf("the free byte: %d\n", lock(file, F_SETLKW, F_WRLCK, 0));
    close(file);
    while (wait(&status) > 0) ended += status == 0;
    printf("%d ended\n", ended);
    return 0;
}
