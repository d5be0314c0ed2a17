/* call: mmap; covers: memory that was promised to a parent, and is partly touched, stays with its child and its child's child after the parent was killed */
#include "check.h"

enum { PAGE = 4096 };
#define MIB (1l << 20)
#define SIZE (48 * MIB)

static char *memory;
static int done[2];

/* Each second MiB was written by the first process. */
static int is_right(char own)
{
    for (long at = 0; at < SIZE; at += MIB / 4) {
        char expected = at / MIB % 2 == 0 ? 7 : 0;
        if (memory[at] != expected)
            return 0;
    }
    for (long at = 16; at < SIZE; at += 3 * PAGE)
        memory[at] = own;
    for (long at = 16; at < SIZE; at += 3 * PAGE)
        if (memory[at] != own || memory[at + 1] != (at / MIB % 2 == 0 ? 7 : 0))
            return 0;
    return 1;
}

static void grandchild(void)
{
    char result = is_right(2) ? 'y' : 'n';
    if (write(done[1], &result, 1) != 1)
        _exit(1);
    _exit(0);
}

static void child(pid_t parent)
{
    while (getppid() == parent)
        usleep(1000);
    char result = is_right(1) ? 'y' : 'n';
    /* The bytes that this process wrote are its child's too. */
    for (long at = 16; at < SIZE; at += 3 * PAGE)
        memory[at] = at / MIB % 2 == 0 ? 7 : 0;
    pid_t next = fork();
    if (next == 0)
        grandchild();
    waitpid(next, NULL, 0);
    if (write(done[1], &result, 1) != 1)
        _exit(1);
    _exit(0);
}

static void first(void)
{
    memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long at = 0; at < SIZE; at += 2 * MIB)
        memset(memory + at, 7, MIB);
    pid_t own = getpid();
    if (fork() == 0)
        child(own);
    kill(own, SIGKILL);
}

int main(void)
{
    int status;
    SHOW(pipe(done));
    waitpid(make_child(first), &status, 0);
    HOLDS(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    char results[2] = { 0, 0 };
    for (int number = 0; number < 2; number++)
        SHOW(read(done[0], results + number, 1));
    HOLDS(results[0] == 'y' && results[1] == 'y');
    return 0;
}
