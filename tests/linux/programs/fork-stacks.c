/* call: fork, clone, sigaltstack; covers: memory below the stack pointer, of a child that runs on memory of the heap, and of one that is forked on another stack */
#include "check.h"

enum { SIZE = 16384 };

static char *heap;

static int on_the_heap(void *argument)
{
    int kept = 1;
    for (int at = 0; at < SIZE; at++)
        kept &= heap[at] == (char)(at % 100 + 1);
    say("below the stack: %s\n", kept ? "kept" : "LOST");
    return 3;
}

static pid_t forked;

static void fork_in_handler(int number)
{
    forked = fork();
}

/* Its frame lies below the stack that the handler runs on. */
__attribute__((noinline)) static void raise_deeper(void)
{
    char deep[3 * SIZE];
    memset(deep, 7, sizeof deep);
    raise(SIGUSR1);
    int kept = 1;
    for (unsigned at = 0; at < sizeof deep; at++)
        kept &= ((volatile char *)deep)[at] == 7;
    /* The child prints first. */
    if (forked != 0)
        wait_for(forked);
    say("%s: frames below the handler's stack %s\n", forked == 0 ? "child" : "parent", kept ? "kept" : "LOST");
    if (forked == 0)
        _exit(4);
}

int main(void)
{
    heap = malloc(3 * SIZE);
    for (int at = 0; at < SIZE; at++)
        heap[at] = (char)(at % 100 + 1);
    pid_t child = clone(on_the_heap, heap + 3 * SIZE, SIGCHLD, NULL);
    wait_for(child);

    char stack[4 * SIZE];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = fork_in_handler, .sa_flags = SA_ONSTACK};
    SHOW(sigaltstack(&other, NULL));
    SHOW(sigaction(SIGUSR1, &action, NULL));
    raise_deeper();
    return 0;
}
