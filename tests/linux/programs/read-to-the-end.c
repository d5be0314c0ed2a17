/* call: read, pread64, readv; covers: a buffer that is larger than the file, whatever multiple of something its size is; also: musl dynamic */
#include "check.h"

static char bytes[600000], other[600000];

static void of_size(long size)
{
    int file = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (long at = 0; at < size; at++)
        bytes[at] = at * 7;
    SHOW(write(file, bytes, size));
    SHOW(pread(file, other, sizeof other, 0));
    SHOW(lseek(file, 0, SEEK_SET));
    SHOW(read(file, other, sizeof other));
    HOLDS(memcmp(bytes, other, size) == 0);
    SHOW(read(file, other, sizeof other));
    SHOW(lseek(file, 1, SEEK_SET));
    struct iovec pieces[2] = { { other, 16384 }, { other + 16384, 400000 } };
    SHOW(readv(file, pieces, 2));
    SHOW(pread(file, other, sizeof other, size));
    close(file);
}

static void *writer(void *argument)
{
    int *ends = argument;
    write(ends[1], bytes, 49152);
    close(ends[1]);
    return NULL;
}

int main(void)
{
    long sizes[] = { 0, 1, 4096, 12288, 16383, 16384, 16385, 32768, 65536, 131072, 262144, 524288 };
    for (unsigned index = 0; index < sizeof sizes / sizeof *sizes; index++)
        of_size(sizes[index]);
    int ends[2];
    pthread_t thread;
    pipe(ends);
    pthread_create(&thread, NULL, writer, ends);
    pthread_join(thread, NULL);
    long total = 0;
    for (long count; (count = read(ends[0], other, sizeof other)) > 0;)
        total += count;
    say("%ld\n", total);
    return 0;
}
