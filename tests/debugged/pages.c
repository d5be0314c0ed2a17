/* Memory whose pages change: by a fork, by calls that map, and by large reads. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 1 << 20, MIDDLE = SIZE / 2 };
char *memory;
volatile int *place;

__attribute__((noinline)) static void begin(void)
{
    asm volatile("");
}

static int child(void)
{
    int child = fork(), status;
    if (child == 0) {
        *place = 1000;
        memset(memory, 9, SIZE);
        _exit(*place == 0x09090909 ? 5 : 6);
    }
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

int main(void)
{
    memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    place = (volatile int *)(memory + MIDDLE);
    begin();
    *place = 1;
    int first = child();
    *place = 2;
    int second = child();
    int zeros = open("/dev/zero", O_RDONLY);
    if (read(zeros, memory + MIDDLE - 100, 200) != 200)
        return 1;
    *place = 3;
    if (lseek(zeros, 0, SEEK_SET) != 0 || read(zeros, memory, SIZE) != SIZE)
        return 2;
    *place = 4;
    if (mprotect(memory, SIZE, PROT_READ) != 0 || mprotect(memory, SIZE, PROT_READ | PROT_WRITE) != 0)
        return 3;
    *place = 5;
    if (mmap(memory + MIDDLE, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        return 4;
    *place = 6;
    if (munmap(memory + MIDDLE, 4096) != 0)
        return 5;
    if (mmap(memory + MIDDLE, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        return 6;
    *place = 7;
    printf("children %d %d\n", first, second);
    fflush(stdout);
    return 0;
}
