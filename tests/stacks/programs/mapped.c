#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
/* Maps a file, writes there and by other descriptors, in two processes, and reads what there is. */
#define PAGES 200
#define SIZE (PAGES * 4096 + 100)
static sigjmp_buf back;
static void bus(int number) { siglongjmp(back, number); }
static int wrong(const char *what) { perror(what); printf("wrong: %s\n", what); return 1; }
static unsigned long sum_of(int fd) {
    unsigned long sum = 0;
    unsigned char piece[4096];
    long count;
    for (long at = 0; (count = pread(fd, piece, sizeof piece, at)) > 0; at += count)
        for (long i = 0; i < count; i++) sum = sum * 31 + piece[i];
    return sum;
}
int main(int count, char **words) {
    int fd = open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0600), other = open(words[1], O_RDWR), reader = open(words[1], O_RDONLY);
    if (fd < 0 || other < 0 || reader < 0 || ftruncate(fd, SIZE)) return wrong("open");
    char *memory = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) return wrong("mmap");
    for (int page = 0; page <= PAGES; page++) memory[page * 4096L] = page + 1;
    if (!fork()) {
        for (int page = 0; page <= PAGES; page += 3) memory[page * 4096L + 1] = page + 2;
        _exit(0);
    }
    int status;
    wait(&status);
    if (memory[300 * 2 * 2] != 0 || memory[3 * 4096 + 1] != 5) return wrong("child");
    if (msync(memory, SIZE, MS_SYNC)) return wrong("msync");
    printf("%lx\n", sum_of(other));
    if (mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, reader, 0) != MAP_FAILED) return wrong("reader writes");
    char *private = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, reader, 0), *shown = mmap(0, SIZE, PROT_READ, MAP_PRIVATE, reader, 0);
    char *seen = mmap(0, SIZE, PROT_READ, MAP_SHARED, reader, 0);
    if (private == MAP_FAILED || shown == MAP_FAILED || seen == MAP_FAILED) return wrong("private");
    private[0] = 99;
    printf("%d %d %d %d\n", memory[0], shown[4096], seen[8192], private[3 * 4096 + 1]);
    if (pwrite(fd, "written", 7, 5 * 4096) != 7 || memcmp(memory + 5 * 4096, "written", 7)) return wrong("write");
    if (pwrite(other, "others", 6, 6 * 4096) != 6 || msync(memory, SIZE, MS_SYNC) || memcmp(memory + 6 * 4096, "others", 6) || memcmp(seen + 6 * 4096, "others", 6)) return wrong("others");
    memory[7 * 4096] = 77;
    char byte = 0;
    if (pread(fd, &byte, 1, 7 * 4096) != 1 || byte != 77) return wrong("read");
    memory[SIZE - 1] = 55;
    memory[SIZE] = 66;
    munmap(seen, SIZE);
    munmap(shown, SIZE);
    if (ftruncate(fd, 10 * 4096)) return wrong("ftruncate");
    signal(SIGBUS, bus);
    if (!sigsetjmp(back, 1)) {
        memory[11 * 4096] = 1;
        return wrong("no SIGBUS");
    }
    memory[9 * 4096] = 44;
    munmap(memory, SIZE);
    struct stat known;
    fstat(reader, &known);
    printf("%ld %lx\n", (long)known.st_size, sum_of(reader));
    return 0;
}
