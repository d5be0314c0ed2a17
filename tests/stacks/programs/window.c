/* Maps the registers of the machine's timer, which a manager hands out to one open file at a time. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile uint32_t *map(void)
{
    int file = open("/dev/hpet", O_RDONLY);
    volatile uint32_t *window = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
    int error = errno;
    close(file);
    errno = error;
    return window;
}

/* A revision, and a period of at most 100 ns in femtoseconds: what each of these timers has. */
static const char *look(volatile uint32_t *window)
{
    if (window == MAP_FAILED)
        return strerror(errno);
    return (window[0] & 0xff) != 0 && window[1] > 0 && window[1] <= 100000000 ? "a timer" : "something else";
}

/* What another process finds. */
static void other(const char *when)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        printf("%s: %s\n", when, look(map()));
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(void)
{
    int file = open("/dev/hpet", O_RDONLY);
    volatile uint32_t *one = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
    volatile uint32_t *two = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
    printf("one: %s, two: %s\n", look(one), look(two));
    close(file);
    printf("closed: %s\n", look(one));
    printf("another file: %s\n", look(map()));
    other("another process");
    munmap((void *)one, 4096);
    other("while one mapping is left");
    munmap((void *)two, 4096);
    other("when none is left");

    /* It comes back from a process that is killed. */
    int ready[2];
    char byte;
    pipe(ready);
    pid_t child = fork();
    if (child == 0) {
        byte = *look(map());
        write(ready[1], &byte, 1);
        pause();
    }
    read(ready[0], &byte, 1);
    printf("somebody has %s: %s\n", byte == 'a' ? "it" : "something else", look(map()));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    volatile uint32_t *again = map();
    while (again == MAP_FAILED && errno == EBUSY) {
        usleep(10000);
        again = map();
    }
    printf("after its end: %s\n", look(again));
    return 0;
}
