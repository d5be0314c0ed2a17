#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <time.h>
/* Sums 2 MiB that are written all the time, for longer than a second, while others move them. */
int main(void) {
    size_t n = 2 << 20; unsigned *a = calloc(n / 4, 4); unsigned long sum = 0;
    for (unsigned round = 0; round < 60; round++) {
        for (size_t i = 0; i < n / 4; i += 64) { sum += a[i]; a[i] = a[i] * 31 + round + i; }
        usleep(20000);
    }
    printf("%lx\n", sum);
}
