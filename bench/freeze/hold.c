/* Holds so many MiB of memory, each page of which has contents of its own, and waits for a while. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char **words)
{
    size_t size = (size_t)atoi(count > 1 ? words[1] : "1") << 20;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    for (size_t at = 0; at < size; at += 4096)
        *(size_t *)(memory + at) = at + 1;
    puts("held");
    fflush(stdout);
    sleep(1200);
    return 0;
}
