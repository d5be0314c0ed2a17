/* A program that takes all memory, and then makes calls of every kind that need some: each has an error, and the program and its parent live. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void rung(int signal) { (void)signal; }
static void child(void)
{
    signal(SIGALRM, rung);
    for (long size = 64 << 20; size >= 4096; size /= 2)
        while (mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
            ;
    int made = 0, refused = 0;
    for (int i = 0; i < 3000; i++) {
        int two[2], one = -1;
        struct itimerspec due = {{0, 0}, {1000, 0}};
        timer_t timer;
        struct epoll_event event = {.events = EPOLLIN};
        switch (i % 12) {
        case 0: one = open("/etc/passwd", O_RDONLY); break;
        case 1: one = pipe(two); break;
        case 2: one = socketpair(AF_UNIX, SOCK_STREAM, 0, two); break;
        case 3: one = eventfd(0, 0); break;
        case 4: one = epoll_create1(0); if (one >= 0) epoll_ctl(one, EPOLL_CTL_ADD, 0, &event); break;
        case 5: one = timerfd_create(CLOCK_MONOTONIC, 0); if (one >= 0) timerfd_settime(one, 0, &due, 0); break;
        case 6: one = dup(0); break;
        case 7: one = timer_create(CLOCK_MONOTONIC, 0, &timer); break;
        case 8: one = (int)(long)mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); break;
        case 9: one = raise(SIGALRM); break;
        case 10: one = fork(); if (one == 0) _exit(0); if (one > 0) waitpid(one, 0, 0); break;
        case 11: one = poll(&(struct pollfd){0, POLLIN, 0}, 1, 0); break;
        }
        made += one != -1;
        refused += one == -1;
    }
    _exit(made != 0 && refused != 0 ? 0 : 1);
}
int main(void)
{
    int pid = fork(), status = -1;
    if (pid == 0)
        child();
    waitpid(pid, &status, 0);
    printf("status %x\n", status);
    int ends[2];
    printf("a pipe: %d\n", pipe(ends));
    pid = fork();
    if (pid == 0)
        _exit(7);
    waitpid(pid, &status, 0);
    printf("a child: %x\n", status);
    return 0;
}
