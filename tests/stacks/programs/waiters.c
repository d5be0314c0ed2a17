/* Processes that wait at one shared word, as many as the argument says: others are served meanwhile, and each of them is woken. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "waits.h"
int main(int count, char **arguments)
{
    unsigned *words = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int all = atoi(arguments[count - 1]), status = 0, ended = 0;
    int *pids = calloc(all, sizeof *pids);
    for (int i = 0; i < all; i++)
        if ((pids[i] = fork()) == 0) {
            __sync_fetch_and_add(words + 1, 1);
            _exit(syscall(SYS_futex, words, FUTEX_WAIT, 0, 0) != 0);
        }
    while (*(volatile unsigned *)(words + 1) < (unsigned)all)
        usleep(1000);
    for (int i = 0; i < all; i++)
        await_wait(pids[i]);
    /* The servers that they asked have heard of them, too. */
    usleep(300000);
    if (fork() == 0)
        _exit(3);
    wait(&status);
    printf("another: status %x\n", status);
    long woken = syscall(SYS_futex, words, FUTEX_WAKE, all);
    while (wait(&status) > 0)
        ended += status == 0;
    printf("%ld woken, %d ended\n", woken, ended);
    return 0;
}
