/* Large memory that a process and its children have in common until they write to it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 3 << 20, STEP = 70000 };

static unsigned char *memory;

static unsigned long sum(void)
{
    unsigned long sum = 0;
    for (long at = 0; at < SIZE; at += 1000)
        sum = sum * 31 + memory[at];
    return sum;
}

/* Each generation writes, makes the next, writes again, and has the next write to its memory through a pipe. */
static void generation(int number)
{
    int ends[2], status;
    for (long at = number * 1000; at < SIZE; at += STEP)
        memory[at] += number;
    printf("%d: %lx\n", number, sum());
    fflush(stdout);
    if (number == 4 || pipe(ends) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        generation(number + 1);
        write(ends[1], memory + number * STEP, 5000);
        _exit(number);
    }
    for (long at = number * 500; at < SIZE; at += STEP)
        memory[at] -= 1;
    waitpid(child, &status, 0);
    long count = read(ends[0], memory + SIZE / 2, 8000);
    printf("%d: %d, %ld, %lx\n", number, WEXITSTATUS(status), count, sum());
    fflush(stdout);
}

int main(void)
{
    memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long at = 0; at < SIZE; at++)
        memory[at] = at / 77;
    generation(1);
    return 0;
}
