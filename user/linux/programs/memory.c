/* The heap, mappings cut and moved, and pointers that lead nowhere. */
#include "check.h"
#include <sys/mman.h>
#include <sys/uio.h>

#define PAGE 4096
#define BOTH (PROT_READ | PROT_WRITE)

static char *map(size_t pages, int protection)
{
    return mmap(NULL, pages * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void heap(void)
{
    static char *blocks[2000];
    unsigned seed = 1, sum = 0;
    for (int round = 0; round < 20000; round++) {
        seed = seed * 1103515245 + 12345;
        unsigned index = seed / 65536 % 2000, size = seed % (round % 50 ? 3000 : 300000);
        if (blocks[index]) {
            sum += (unsigned char)*blocks[index];
            free(blocks[index]);
        }
        blocks[index] = malloc(size + 1);
        memset(blocks[index], round, size + 1);
    }
    printf("sum %u\n", sum);
    for (int index = 0; index < 2000; index++)
        free(blocks[index]);
    char *large = malloc(3 << 20);
    memset(large, 7, 3 << 20);
    large = realloc(large, 9 << 20);
    HOLDS(large[0] == 7 && large[(3 << 20) - 1] == 7);
    free(large);
    char *zeros = calloc(1, 200000);
    HOLDS(zeros[0] == 0 && zeros[199999] == 0);
    free(zeros);
    HOLDS(malloc((size_t)1 << 45) == NULL);
}

static void breaks(void)
{
#ifdef __GLIBC__ /* musl keeps the break for itself */
    char *start = sbrk(0);
    sbrk(-(long)start & (PAGE - 1));
    start = sbrk(0);
    HOLDS(sbrk(3 * PAGE) == start);
    memset(start, 1, 3 * PAGE);
    sbrk(-2 * PAGE - 10);
    sbrk(2 * PAGE + 10);
    HOLDS(start[PAGE - 11] == 1 && start[PAGE - 10] == 1 && start[PAGE] == 0 && start[3 * PAGE - 1] == 0);
    sbrk(-3 * PAGE);
    HOLDS(sbrk(0) == start);
    HOLDS(sbrk(200 << 20) == start);
    start[(200 << 20) - 1] = 1;
    sbrk(-(200 << 20));
#endif
}

static void mappings(void)
{
    char *area = map(10, BOTH);
    memset(area, 5, 10 * PAGE);
    SHOW(munmap(area + 3 * PAGE, 2 * PAGE));
    HOLDS(area[3 * PAGE - 1] == 5 && area[5 * PAGE] == 5);
    SHOW(mprotect(area + 6 * PAGE, PAGE, PROT_READ));
    SHOW(mprotect(area, 6 * PAGE, PROT_READ));
    SHOW(mprotect(area + 1, PAGE, PROT_READ));
    HOLDS(mmap(area + 3 * PAGE, 2 * PAGE, BOTH, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == area + 3 * PAGE);
    HOLDS(area[3 * PAGE] == 0);
    SHOW(mprotect(area, 10 * PAGE, BOTH));
    memset(area, 6, 10 * PAGE);
    HOLDS(mmap(area, PAGE, BOTH, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED && errno == EEXIST);
    char *grown = mremap(area, 10 * PAGE, 400 * PAGE, MREMAP_MAYMOVE);
    HOLDS(grown != MAP_FAILED && grown[10 * PAGE - 1] == 6 && grown[10 * PAGE] == 0 && grown[400 * PAGE - 1] == 0);
    SHOW(mremap(grown, 400 * PAGE, 5 * PAGE, 0) == grown);
    HOLDS(grown[5 * PAGE - 1] == 6);
    SHOW(madvise(grown, 5 * PAGE, MADV_DONTNEED));
    HOLDS(grown[0] == 0 && grown[5 * PAGE - 1] == 0);
    SHOW(munmap(grown, 5 * PAGE));
    SHOW(munmap(grown, 0));
    SHOW(munmap(grown + 1, PAGE));
    HOLDS(mmap(NULL, 0, BOTH, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
    HOLDS(mmap(NULL, PAGE, BOTH, MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
    HOLDS(mmap(NULL, PAGE, BOTH, MAP_PRIVATE, 77, 0) == MAP_FAILED && errno == EBADF);
    char *reserved = map(100000, PROT_NONE);
    SHOW(mprotect(reserved + 5000 * PAGE, 3 * PAGE, BOTH));
    reserved[5000 * PAGE] = 1;
    SHOW(munmap(reserved, 100000ul * PAGE));
}

static void files(void)
{
    int fd = open("memory.test", O_RDWR | O_CREAT | O_TRUNC, 0644);
    static char text[3 * PAGE];
    memset(text, 'm', sizeof text);
    SHOW(write(fd, text, sizeof text - 100));
    char *view = mmap(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
    HOLDS(view != MAP_FAILED && view[0] == 'm' && view[3 * PAGE - 101] == 'm' && view[3 * PAGE - 100] == 0);
    SHOW(munmap(view, 3 * PAGE));
    view = mmap(NULL, PAGE, BOTH, MAP_PRIVATE, fd, PAGE);
    view[0] = 'x';
    SHOW(pread(fd, text, 1, PAGE));
    HOLDS(text[0] == 'm' && view[1] == 'm');
    SHOW(munmap(view, PAGE));
    close(fd);
    fd = open("memory.test", O_WRONLY);
    HOLDS(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED && errno == EACCES);
    close(fd);
    unlink("memory.test");
}

static void pointers(void)
{
    char *bad = (char *)8, *area = map(3, BOTH);
    struct iovec piece = {bad, 4};
    int fd = open("memory.test", O_RDWR | O_CREAT | O_TRUNC, 0644);
    munmap(area + PAGE, PAGE);
    SHOW(write(fd, bad, 4));
    SHOW(write(fd, area + PAGE - 2, 10));
    SHOW(write(fd, area + PAGE, 10));
    SHOW(lseek(fd, 0, SEEK_SET));
    SHOW(read(fd, bad, 4));
    SHOW(read(fd, (char *)pointers, 1));
    SHOW(writev(fd, &piece, 1));
    SHOW(writev(fd, (void *)bad, 1));
    SHOW(open(bad, O_RDONLY));
    memset(area, 'n', PAGE);
    SHOW(open(area + PAGE - 5, O_RDONLY));
    SHOW(syscall(SYS_uname, bad));
    SHOW(syscall(SYS_clock_gettime, 0, bad));
    SHOW(syscall(SYS_clock_gettime, 0, -8L));
    SHOW(syscall(SYS_newfstatat, fd, "", bad, AT_EMPTY_PATH));
    SHOW(syscall(SYS_getcwd, bad, 100));
    SHOW(syscall(SYS_pipe2, bad, 0));
    SHOW(syscall(SYS_rt_sigaction, SIGUSR1, bad, 0, 8));
    SHOW(syscall(SYS_getrandom, bad, 10, 0));
    SHOW(syscall(SYS_write, fd, 0x7e0000000000, 10));
    SHOW(syscall(SYS_write, fd, 0x200000000000, 10));
    close(fd);
    unlink("memory.test");
}

int main(int count, char **words)
{
    start_in(count, words);
    heap();
    breaks();
    mappings();
    files();
    pointers();
    return 0;
}
