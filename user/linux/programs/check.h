/* What the programs have in common. */
#ifndef CHECK_H
#define CHECK_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Prints a call, what it gives, and why it failed. */
#define SHOW(call)                                                              \
    do {                                                                        \
        errno = 0;                                                              \
        long shown = (long)(call);                                              \
        printf("%s = %ld%s%s\n", #call, shown, shown == -1 ? " " : "", shown == -1 ? strerror(errno) : ""); \
    } while (0)

/* Prints whether something holds. */
#define HOLDS(condition) printf("%s: %s\n", #condition, (condition) ? "yes" : "NO")

/* Changes to the directory that the command line names, if it names one. */
static inline void start_in(int count, char **words)
{
    if (count > 1 && chdir(words[1]) != 0) {
        perror(words[1]);
        exit(99);
    }
}

#endif
