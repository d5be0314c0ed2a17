/* call: fork, vfork; covers: a process with very many mappings; also: musl dynamic */
#include "check.h"

#define AREAS 900

static char *areas[AREAS];

int main(int count, char **words)
{
    (void)words;
    if (count > 1)
        return 7;
    for (int index = 0; index < AREAS; index++) {
        areas[index] = mmap(NULL, 4096 * (index % 7 + 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        areas[index][5] = index % 50;
    }
    for (int round = 0; round < 3; round++) {
        pid_t one = vfork();
        if (one == 0) {
            execl(self, self, program, "again", (char *)NULL);
            _exit(1);
        }
        wait_for(one);
        one = fork();
        if (one == 0) {
            long sum = 0;
            for (int index = 0; index < AREAS; index++)
                sum += areas[index][5] * index;
            say("%ld\n", sum);
            _exit(0);
        }
        wait_for(one);
    }
    return 0;
}
