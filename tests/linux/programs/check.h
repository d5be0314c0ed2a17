/* What the programs have in common: they print what calls gave, by names that are the same everywhere. */
#ifndef CHECK_H
#define CHECK_H
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Prints a call, what it gave, and the name of its error. */
#define SHOW(call)                          \
    do {                                    \
        errno = 0;                          \
        show_result(#call, (long)(call));   \
    } while (0)

/* Prints whether something holds. */
#define HOLDS(condition) say("%s: %s\n", #condition, (condition) ? "yes" : "NO")

/* Prints a line, in one call of `write`, so that it may be used in handlers and in children. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Notes what a thread has to say, for whoever prints `notes` when it has ended: it runs beside the others. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern char notes[4096];
/* Prints what `SHOW` prints; the error is in `errno`. */
void show_result(const char *call, long result);

/* The name of an error, such as ENOENT. */
const char *error_name(int number);
/* The name of a signal, such as SIGINT; real-time signals are SIGRTMIN+3. */
const char *signal_name(int number);

/* Prints what became of a child. */
void show_status(int status);
/* Waits for a child and prints what became of it. */
void wait_for(pid_t child);
/* Makes a child that carries out the function and ends with 0. */
pid_t make_child(void (*function)(void));
/* Carries the function out in a child, and prints what became of it. */
void in_child(void (*function)(void));

/* Makes a file with this text. */
void put_file(const char *path, const char *text);
/* Prints a file's text. */
void show_file(const char *path);

/* Waits so many milliseconds, whatever signals come. */
void nap(int milliseconds);
/* Milliseconds of the monotonic clock. */
long now(void);

/* Steps that processes and threads of a program reach in an order. The memory that counts them is shared with children that are forked later. */
void begin_steps(void);
/* Lets those go on that wait for this step or an earlier one. */
void reach_step(int step);
/* Waits until the step is reached, whatever signals come. */
void await_step(int step);

/* Installs a handler, with these flags and nothing in its mask. */
void handle(int number, void (*handler)(int), int flags);
/* The same for a handler of three arguments. */
void handle_info(int number, void (*handler)(int, siginfo_t *, void *), int flags);

/* The file that this program is, and its name among the programs. */
extern char self[];
extern char *program;
/* Runs this program again in this process, with one argument; returns if that fails. */
void again(char *argument);

#endif
