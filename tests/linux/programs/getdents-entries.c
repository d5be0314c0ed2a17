/* call: getdents64; covers: names and kinds, the end, a small buffer; also: musl */
#include "check.h"

struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t kind;
    char name[];
};

static int compare(const void *one, const void *other)
{
    return strcmp(one, other);
}

int main(void)
{
    char buffer[1000], lines[8][40];
    int count = 0;
    mkdir("d", 0755);
    put_file("d/file", "");
    mkdir("d/directory", 0755);
    symlink("x", "d/link");
    mkfifo("d/fifo", 0644);
    int fd = open("d", O_RDONLY);
    SHOW(syscall(SYS_getdents64, fd, buffer, 4));
    long size = syscall(SYS_getdents64, fd, buffer, sizeof buffer);
    for (long at = 0; at < size && count < 8;) {
        struct entry *entry = (void *)(buffer + at);
        snprintf(lines[count++], 40, "%s %d", entry->name, entry->kind);
        at += entry->length;
    }
    qsort(lines, count, 40, compare);
    for (int index = 0; index < count; index++)
        say("%s\n", lines[index]);
    SHOW(syscall(SYS_getdents64, fd, buffer, sizeof buffer));
    SHOW(syscall(SYS_getdents64, open("d/file", O_RDONLY), buffer, sizeof buffer));
    SHOW(syscall(SYS_getdents64, 77, buffer, sizeof buffer));
    SHOW(lseek(fd, 0, SEEK_SET));
    HOLDS(syscall(SYS_getdents64, fd, buffer, sizeof buffer) == size);
    return 0;
}
