/* call: mmap; covers: a program that touches more memory than there is ends, and no other; its memory can be had again */
#include "check.h"

#define MIB (1l << 20)

static void touch_all(void)
{
    char *memory = mmap(NULL, 65536 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        _exit(1);
    for (long at = 0; at < 65536 * MIB; at += 4096)
        memory[at] = 1;
}

int main(void)
{
    for (int turn = 0; turn < 2; turn++) {
        pid_t child = make_child(touch_all);
        int status = 0;
        waitpid(child, &status, 0);
        /* Linux ends it by SIGKILL. */
        HOLDS(WIFSIGNALED(status));
        char *memory = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        HOLDS(memory != MAP_FAILED);
        memset(memory, 1, 64 * MIB);
        SHOW(munmap(memory, 64 * MIB));
    }
    return 0;
}
