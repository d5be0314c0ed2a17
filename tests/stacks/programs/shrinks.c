// Takes large private memory, and gives parts of it back in each way: its end, its middle, its contents. It aborts if a part that it kept is not
// what it was, or one that it gave back is not zeros. An error of a call is no fault, since calls are made to fail.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#define SIZE (32l << 20)
#define PLACES 200
#define STEP (SIZE / PLACES & ~4095l)

static char *at(char *start, int place) { return start + place * STEP; }

static void check(char *start, int first, int end, int round) {
    for (int place = first; place < end; place++)
        if (*at(start, place) != (char) (place + round)) abort();
}

int main(void) {
    for (int round = 1; round < 4; round++) {
        char *start = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (start == MAP_FAILED) return 1;
        // No place follows the one before, so none comes with another.
        for (int number = 0; number < PLACES; number++) {
            int place = number * 7 % PLACES;
            *at(start, place) = place + round;
        }
        check(start, 0, PLACES, round);
        if (madvise(at(start, 20), 30 * STEP, MADV_DONTNEED) == 0) {
            for (int place = 20; place < 50; place++)
                if (*at(start, place) != 0) abort();
        }
        check(start, 0, 20, round), check(start, 50, PLACES, round);
        if (munmap(at(start, 60), 40 * STEP) != 0) return 1;
        check(start, 100, PLACES, round);
        char *moved = mremap(at(start, 100), (PLACES - 100) * STEP, 50 * STEP, 0);
        if (moved != MAP_FAILED && moved != at(start, 100)) abort();
        check(start, 100, 150, round), check(start, 50, 60, round), check(start, 0, 20, round);
        if (munmap(start, SIZE) != 0) return 1;
    }
    return 0;
}
