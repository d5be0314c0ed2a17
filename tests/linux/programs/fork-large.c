/* call: fork; covers: large memory that parent, child and grandchild write, and who ends first; also: musl dynamic */
#include "check.h"

#define PAGES 2048
#define SIZE (PAGES * 4096L)

static unsigned char *memory;

/* What byte 5 of a page says that was written last by `who`. */
static void mark(int first, int step, unsigned char who)
{
    for (int page = first; page < PAGES; page += step)
        memory[page * 4096L + 5] = who;
}

/* A sum that tells what is in all pages apart. */
static unsigned long sum(void)
{
    unsigned long sum = 0;
    for (int page = 0; page < PAGES; page++)
        sum = sum * 31 + memory[page * 4096L + 5] + memory[page * 4096L + 4095];
    return sum;
}

static void grandchild(void)
{
    await_step(1);
    say("grandchild, alone: %lx\n", sum());
    mark(2, 9, 4);
    say("grandchild: %lx\n", sum());
}

static void child(void)
{
    say("child sees %lx\n", sum());
    mark(0, 3, 2);
    say("child has %lx\n", sum());
    if (make_child(grandchild) < 0)
        say("no grandchild\n");
    mark(1, 1, 7);
    say("child has %lx\n", sum());
}

static void again_and_again(void)
{
    for (int round = 0; round < 4; round++) {
        pid_t child = fork();
        if (child == 0) {
            mark(round, 100, 20 + round);
            _exit(sum() % 200);
        }
        mark(round, 50, 10 + round);
        wait_for(child);
    }
    say("parent has %lx\n", sum());
}

int main(void)
{
    begin_steps();
    memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mark(0, 2, 1);
    memset(memory + SIZE / 2, 3, 40000);
    say("parent has %lx\n", sum());
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t one = make_child(child);
    mark(1, 5, 9);
    wait_for(one);
    say("parent has %lx\n", sum());
    reach_step(1);
    while (wait(NULL) > 0)
        ;
    mark(0, 1, 8);
    say("parent has %lx\n", sum());
    again_and_again();
    char *heap = malloc(3000000);
    memset(heap, 'h', 3000000);
    one = fork();
    if (one == 0) {
        heap = realloc(heap, 5000000);
        say("child's heap: %c %c\n", heap[0], heap[2999999]);
        memset(heap, 'c', 5000000);
        free(heap);
        _exit(0);
    }
    wait_for(one);
    say("parent's heap: %c %c\n", heap[0], heap[2999999]);
    free(heap);
    return 0;
}
