/* call: clone; covers: threads that open and close files all the time: each makes as many calls as the others, and all together as many as one */
#include "check.h"

#define MOST 16

static struct {
    volatile unsigned long made;
    char apart[120];
} counts[MOST];
static volatile int is_over;

static void *opens(void *count)
{
    volatile unsigned long *made = count;
    while (!is_over) {
        close(open("/etc/passwd", O_RDONLY));
        ++*made;
    }
    return 0;
}

/* Lets so many threads run for a while; returns the calls of all, and stores those of the busiest and the laziest. */
static unsigned long run(int threads, unsigned long *least, unsigned long *most)
{
    pthread_t all[MOST];
    is_over = 0;
    for (int i = 0; i < threads; i++) {
        counts[i].made = 0;
        pthread_create(&all[i], 0, opens, (void *)&counts[i].made);
    }
    usleep(20000 * threads + 100000);
    is_over = 1;
    unsigned long sum = 0;
    *least = -1ul;
    *most = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(all[i], 0);
        unsigned long made = counts[i].made;
        sum += made;
        *least = made < *least ? made : *least;
        *most = made > *most ? made : *most;
    }
    return sum * 1000 / (20 * threads + 100);
}

int main(void)
{
    unsigned long least, most;
    unsigned long alone = run(1, &least, &most);
    HOLDS(alone != 0);
    for (int threads = 2; threads <= MOST; threads *= 2) {
        unsigned long all = run(threads, &least, &most);
        say("%d threads\n", threads);
        HOLDS(least * 2 >= most);
        HOLDS(all * 10 >= alone * 8);
        if (least * 2 < most || all * 10 < alone * 8)
            say("%lu to %lu of each, %lu of all and %lu of one in a second\n", least, most, all, alone);
    }
    return 0;
}
