/* call: mmap; covers: lengths, flags, offsets, descriptors; also: musl */
#include "check.h"

static long try(size_t length, int protection, int flags, int fd, off_t offset)
{
    void *found = mmap(NULL, length, protection, flags, fd, offset);
    return found == MAP_FAILED ? -1 : 0;
}

int main(void)
{
    put_file("f", "text");
    int reader = open("f", O_RDONLY), writer = open("f", O_WRONLY), directory = open(".", O_RDONLY);
    SHOW(try(0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    SHOW(try(4096, PROT_READ, MAP_ANONYMOUS, -1, 0));
    SHOW(try(4096, PROT_READ, MAP_PRIVATE, -1, 0));
    SHOW(try(4096, PROT_READ, MAP_PRIVATE, 77, 0));
    SHOW(try(4096, PROT_READ, MAP_PRIVATE, reader, 100));
    SHOW(try(4096, PROT_READ, MAP_PRIVATE, directory, 0));
    SHOW(try(4096, PROT_READ, MAP_PRIVATE, writer, 0));
    SHOW(try(4096, PROT_READ | PROT_WRITE, MAP_SHARED, reader, 0));
    SHOW(try(4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, reader, 0));
    SHOW(try(1ul << 60, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    SHOW(try(-1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    SHOW(try(4096, PROT_READ, MAP_PRIVATE, reader, 4096));
    return 0;
}
