#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
/* Counts in persistent memory: in each page of a file that is mapped, where the last run stopped. A child counts too. */
#define PAGES 9
#define SIZE (PAGES * 4096 - 100)
static int wrong(const char *what) { perror(what); printf("wrong: %s\n", what); return 1; }
int main(int count, char **words) {
    int fd = open(words[1], O_RDWR | O_CREAT, 0600);
    struct stat known;
    if (fd < 0 || fstat(fd, &known)) return wrong("open");
    if (known.st_size == 0 && ftruncate(fd, SIZE)) return wrong("ftruncate");
    char *memory = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) return wrong("mmap");
    for (int page = 0; page < PAGES; page++)
        if (memory[page * 4096 + page] != memory[0]) return wrong("pages");
    for (int page = 0; page < PAGES; page++) memory[page * 4096 + page]++;
    if (msync(memory, SIZE, MS_SYNC)) return wrong("msync");
    char byte;
    if (pread(fd, &byte, 1, 4097) != 1 || byte != memory[0]) return wrong("read");
    if (pwrite(fd, "end", 3, SIZE - 3) != 3 || memcmp(memory + SIZE - 3, "end", 3)) return wrong("write");
    if (fstat(fd, &known) || known.st_size != SIZE) return wrong("size");
    printf("%d\n", memory[0]);
    return 0;
}
