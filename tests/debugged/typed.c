/* Signals that a terminal and other processes send. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

volatile int interrupts, others;

static void handle(int signal)
{
    if (signal == SIGINT)
        interrupts++;
    else
        others++;
}

int main(void)
{
    signal(SIGINT, handle);
    signal(SIGUSR1, handle);
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    grantpt(master);
    unlockpt(master);
    setsid();
    int terminal = open(ptsname(master), O_RDWR);
    ioctl(terminal, TIOCSCTTY, 0);
    tcsetpgrp(terminal, getpgrp());
    for (int i = 0; i < 2; i++) {
        /* What is typed comes before what is read. */
        if (write(master, "\3", 1) != 1)
            return 1;
        for (int turn = 0; interrupts <= i && turn < 20; turn++)
            usleep(10000);
    }
    int child = fork();
    if (child == 0) {
        kill(getppid(), SIGUSR1);
        kill(getppid(), SIGTERM);
        kill(getppid(), SIGTSTP);
        _exit(0);
    }
    while (waitpid(child, NULL, 0) < 0)
        ;
    usleep(10000);
    printf("interrupts %d, others %d\n", interrupts, others);
    fflush(stdout);
    return 0;
}
