/* call: mmap, fork, brk; covers: much memory in many places is reached as fast as a little, here and in a fork's child; also: musl dynamic */
#include "check.h"
#include <sys/syscall.h>
#include <time.h>

#define PIECES 700
#define PIECE (64 * 1024)
#define TOUCHES 20000

static char *pieces[PIECES];

static long nanoseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

/* What it takes to read bytes here and there in the first `count` pieces. */
static long touch(unsigned count)
{
    unsigned state = 1, sum = 0;
    long start = nanoseconds();
    for (int step = 0; step < TOUCHES; step++) {
        state = state * 1664525 + 1013904223;
        sum += pieces[(state >> 8) % count][(state >> 12) % PIECE];
    }
    say("sum %s\n", sum ? "right" : "wrong");
    return nanoseconds() - start;
}

/* Instructions are time here: a few times as much is what caches that both have may explain, and no more. */
static void compare(const char *who)
{
    touch(PIECES);
    long few = touch(2), many = touch(PIECES);
    say("%s: %s\n", who, many < 10 * few ? "as fast" : "slower");
}

static void child(void) { compare("in the child"); }

int main(void)
{
    for (int number = 0; number < PIECES; number++) {
        pieces[number] = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        /* What lies between is nobody's, so that the pieces stay pieces. */
        mmap(NULL, 3 * 1024 * 1024, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        memset(pieces[number], 1, PIECE);
    }
    compare("here");
    in_child(child);
    char *more = (char *)syscall(SYS_brk, 0);
    syscall(SYS_brk, more + 16 * 1024 * 1024);
    memset(more, 1, 16 * 1024 * 1024);
    for (int number = 0; number < 32; number++)
        pieces[number] = more + number * 512 * 1024;
    compare("with the break");
    return 0;
}
