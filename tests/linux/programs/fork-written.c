/* call: fork, mprotect, read; covers: threads that write large memory while others fork, cut and read into it; also: musl dynamic */
#include "check.h"

#define PAGES 256
#define SIZE (PAGES * 4096L)
#define WRITERS 3

static volatile unsigned char *memory;
static volatile int stops;
static int ends[2];

/* Each writer has pages of its own, and reads back what it wrote: nobody else may take that away. */
static void *write_pages(void *argument)
{
    long who = (long)argument, lost = 0;
    unsigned char value = 0;
    while (!stops) {
        value++;
        for (int page = (int)who; page < PAGES / 2; page += WRITERS)
            memory[page * 4096L + who] = value;
        for (int page = (int)who; page < PAGES / 2; page += WRITERS)
            lost += memory[page * 4096L + who] != value;
    }
    return (void *)lost;
}

/* Reads into the upper half while others fork: no byte of an answer may be lost. */
static void *read_pages(void *argument)
{
    long lost = 0;
    (void)argument;
    while (!stops) {
        unsigned char *to = (unsigned char *)memory + SIZE / 2 + SIZE / 4 + 100;
        to[0] = 0;
        lost += read(ends[0], to, 1) != 1 || to[0] != 'x';
    }
    return (void *)lost;
}

static void child(void)
{
    /* Sixteen bytes far apart, then all of it: the parent sees nothing of that. */
    for (int page = 0; page < PAGES; page += 16)
        memory[page * 4096L + 77] = 'c';
    memset((void *)(memory + SIZE / 2), 'c', SIZE / 2);
    HOLDS(memory[SIZE / 2 + 5] == 'c' && memory[77] == 'c');
}

int main(void)
{
    pthread_t threads[WRITERS + 1];
    long lost = 0;
    void *result;
    memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset((void *)memory, 1, SIZE);
    SHOW(pipe(ends));
    for (long who = 0; who < WRITERS; who++)
        pthread_create(&threads[who], NULL, write_pages, (void *)who);
    pthread_create(&threads[WRITERS], NULL, read_pages, NULL);
    for (int round = 0; round < 4; round++) {
        in_child(child);
        /* Cuts the area, and joins it again. */
        SHOW(mprotect((void *)(memory + SIZE / 2), 8 * 4096, PROT_READ));
        SHOW(mprotect((void *)(memory + SIZE / 2), 8 * 4096, PROT_READ | PROT_WRITE));
        memory[SIZE / 2] = round;
        for (int byte = 0; byte < 8; byte++) {
            write(ends[1], "x", 1);
            nap(2);
        }
    }
    stops = 1;
    write(ends[1], "x", 1);
    for (int index = 0; index <= WRITERS; index++) {
        pthread_join(threads[index], &result);
        lost += (long)result;
    }
    HOLDS(lost == 0);
    HOLDS(memory[77] == 1 && memory[SIZE / 2 + 5] == 1 && memory[SIZE / 2] == 3);
    return 0;
}
