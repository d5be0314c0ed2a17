/* Takes room for parts of a file on a disk, and looks for its data and holes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MIB (1L << 20)

static void show(const char *what, long result)
{
    if (result < 0)
        printf("%s: %s\n", what, strerror(errno));
    else
        printf("%s: %ld\n", what, result);
    fflush(stdout);
}

#define SHOW(call) show(#call, (long)(call))

static long blocks(int file)
{
    struct stat found;
    return fstat(file, &found) ? -1 : (long)found.st_blocks;
}

static long size(int file)
{
    struct stat found;
    return fstat(file, &found) ? -1 : (long)found.st_size;
}

static long available(void)
{
    struct statvfs found;
    return statvfs(".", &found) ? -1 : (long)(found.f_bfree * found.f_bsize);
}

int main(int count, char **words)
{
    if (count < 2 || chdir(words[1])) return 1;
    char text[8] = "";
    int file = open("sparse", O_RDWR | O_CREAT | O_TRUNC, 0644);
    SHOW(ftruncate(file, 8 * MIB));
    SHOW(blocks(file));
    SHOW(pwrite(file, "data", 4, 4 * MIB));
    SHOW(blocks(file) >= 2 && blocks(file) <= 16);
    SHOW(lseek(file, 0, SEEK_DATA));
    SHOW(lseek(file, 0, SEEK_HOLE));
    SHOW(lseek(file, 4 * MIB, SEEK_HOLE) < 5 * MIB);
    SHOW(lseek(file, 5 * MIB, SEEK_DATA));
    SHOW(lseek(file, 5 * MIB, SEEK_HOLE));
    char *memory = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    memory[6 * MIB] = 'm';
    SHOW(lseek(file, 5 * MIB, SEEK_DATA));
    munmap(memory, 8 * MIB);
    long before = available();
    SHOW(fallocate(file, 0, 0, 2 * MIB));
    SHOW(size(file) == 8 * MIB);
    SHOW(blocks(file) >= 4096);
    SHOW(before - available() >= 2 * MIB);
    SHOW(pread(file, text, 8, MIB) == 8 && text[0] == 0);
    SHOW(pwrite(file, "in the room", 11, MIB));
    SHOW(pread(file, text, 8, MIB - 4) == 8 && memcmp(text, "\0\0\0\0in t", 8) == 0);
    SHOW(fallocate(file, FALLOC_FL_KEEP_SIZE, 8 * MIB, MIB));
    SHOW(size(file) == 8 * MIB);
    SHOW(fallocate(file, 0, 8 * MIB, MIB));
    SHOW(size(file) == 9 * MIB);
    before = available();
    SHOW(fallocate(file, 0, 0, before + 32 * MIB));
    SHOW(available() == before && size(file) == 9 * MIB);
    SHOW(posix_fallocate(file, 100, 10));
    SHOW(fallocate(open("sparse", O_RDONLY), 0, 0, 10));
    memset(text, 1, sizeof text);
    SHOW(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, MIB + 3, 8 * MIB - 10));
    SHOW(size(file) == 9 * MIB);
    SHOW(pread(file, text, 8, MIB - 2) == 8 && memcmp(text, "\0\0in \0\0\0", 8) == 0);
    SHOW(pread(file, text, 8, 6 * MIB) == 8 && text[0] == 0);
    SHOW(lseek(file, 2 * MIB, SEEK_HOLE));
    SHOW(pwrite(file, "again", 5, 4 * MIB));
    SHOW(pread(file, text, 8, 4 * MIB) == 8 && memcmp(text, "again\0\0\0", 8) == 0);
    int gone = open("gone", O_RDWR | O_CREAT, 0600);
    unlink("gone");
    SHOW(fallocate(gone, 0, 0, MIB));
    SHOW(blocks(gone) >= 2048);
    close(gone);
    SHOW(ftruncate(file, 0));
    SHOW(blocks(file));
    SHOW(fsync(file));
    return 0;
}
