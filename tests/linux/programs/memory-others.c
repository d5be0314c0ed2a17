/* call: mmap; covers: while one program takes all memory, others go on, and none of them ends */
#include "check.h"

#define MIB (1l << 20)

static char *take(long size, int flags)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static void touch_all(void)
{
    char *memory = take(65536 * MIB, MAP_NORESERVE);
    if (memory == MAP_FAILED)
        _exit(1);
    for (long at = 0; at < 65536 * MIB; at += 4096)
        memory[at] = 1;
}

/* Takes a little, uses it and gives it back, until it is told to stop. */
static void work(int stop)
{
    struct pollfd told = { stop, POLLIN, 0 };
    do {
        char *memory = take(MIB, 0);
        if (memory == MAP_FAILED)
            continue;
        for (long at = 0; at < MIB; at += 65536)
            memory[at] = 1;
        munmap(memory, MIB);
    } while (poll(&told, 1, 5) == 0);
    _exit(0);
}

int main(void)
{
    int ends[2], status;
    pid_t workers[2];
    SHOW(pipe(ends));
    for (int number = 0; number < 2; number++) {
        workers[number] = fork();
        if (workers[number] == 0)
            work(ends[0]);
    }
    pid_t greedy = make_child(touch_all);
    waitpid(greedy, &status, 0);
    HOLDS(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    SHOW(write(ends[1], "x", 1));
    for (int number = 0; number < 2; number++) {
        HOLDS(waitpid(workers[number], &status, 0) == workers[number]);
        HOLDS(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    return 0;
}
