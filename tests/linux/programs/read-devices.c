/* call: read; covers: reads of many bytes from devices give all of them, one call each, and a signal shortens them; also: musl */
#include "check.h"

#define SIZE (1 << 20)

static volatile int rings;

static void rung(int signal)
{
    (void)signal;
    rings++;
}

int main(void)
{
    static char buffer[SIZE];
    struct sigaction action = {.sa_handler = rung};
    sigaction(SIGALRM, &action, 0);
    int zero = open("/dev/zero", O_RDONLY), random = open("/dev/urandom", O_RDONLY);
    memset(buffer, 1, SIZE);
    HOLDS(read(zero, buffer, SIZE) == SIZE);
    int others = 0;
    for (int i = 0; i < SIZE; i++)
        others += buffer[i] != 0;
    say("%d bytes are not zero\n", others);
    HOLDS(read(random, buffer, 100000) == 100000);
    struct iovec pieces[2] = {{buffer, 40000}, {buffer + 50000, 50000}};
    HOLDS(readv(zero, pieces, 2) == 90000);
    HOLDS(pread(zero, buffer, 70000, 5) == 70000);
    struct itimerval timer = {{0, 20000}, {0, 20000}};
    setitimer(ITIMER_REAL, &timer, 0);
    long least = SIZE;
    for (int i = 0; i < 40 || rings < 3; i++) {
        long count = read(zero, buffer, SIZE);
        if (count < least)
            least = count;
    }
    HOLDS(least > 0);
    return 0;
}
