#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sums 2 MiB that are written all the time, again and again until SIGTERM comes, while others move them. Each time the sum is the same. */
enum { SIZE = 2 << 20, ROUNDS = 60 };

static volatile sig_atomic_t ends;

static void end(int number) {
    (void)number;
    ends = 1;
}

/* Begins with zeros. Pauses between rounds are for those who move the memory, and end early with the last of them. */
static unsigned long sum_all(unsigned *words) {
    unsigned long sum = 0;
    memset(words, 0, SIZE);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (size_t at = 0; at < SIZE / 4; at += 64) sum += words[at], words[at] = words[at] * 31 + round + at;
        if (!ends) usleep(20000);
    }
    return sum;
}

int main(void) {
    unsigned *words = malloc(SIZE);
    signal(SIGTERM, end);
    /* Whoever waits for this file may begin. */
    close(creat("/tmp/ready", 0600));
    unsigned long first = sum_all(words);
    while (!ends)
        if (sum_all(words) != first) return 1;
    printf("%lx\n", first);
    return 0;
}
