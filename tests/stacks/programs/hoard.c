/* Maps all memory that there is, touches none of it, says so in a line, and stays until nobody reads
   its output any more. `plain`: halves of what is refused; `reserve`: the same with MAP_NORESERVE,
   from a TiB on. */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char **words) {
    int reserves = count > 1 && !strcmp(words[1], "reserve");
    size_t size = reserves ? 1ul << 40 : 1ul << 30;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (reserves ? MAP_NORESERVE : 0);
    for (int taken = 0; size >= 4096 && taken < 30000; taken++)
        if (mmap(0, size, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) size /= 2;
    puts("hoarded");
    fflush(stdout);
    struct pollfd output = {1, 0, 0};
    poll(&output, 1, -1);
    return 0;
}
