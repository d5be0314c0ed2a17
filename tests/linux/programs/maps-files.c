/* call: mmap; covers: the names in /proc/self/maps; and: open, munmap, fstat */
#include "check.h"

/* Says what the line of an address has: rights, offset, whether the file is the one with this inode, and the path. */
static void line_of(const char *what, const void *address, ino_t inode) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4400], rights[8] = "", path[4200] = "";
    int found = 0;
    while (fgets(line, sizeof line, maps)) {
        unsigned long start, end, offset, number;
        unsigned major, minor;
        path[0] = 0;
        if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %4199[^\n]", &start, &end, rights, &offset, &major, &minor, &number, path) < 7) continue;
        if ((unsigned long)address < start || (unsigned long)address >= end) continue;
        found = 1;
        say("%s: %s offset %lx, its file %s, path %s\n", what, rights, offset + ((unsigned long)address - start), !inode || number == inode ? "yes" : "no", path[0] ? strrchr(path, '/') ? strrchr(path, '/') + 1 : path : "(none)");
        if (path[0] == '/') say("column %d\n", (int)(strchr(line, '/') - line));
    }
    if (!found) say("%s: no line\n", what);
    fclose(maps);
}

int main(void) {
    mkdir("maps-files-d", 0755);
    int file = open("maps-files-d/data", O_RDWR | O_CREAT, 0644);
    struct stat status;
    fstat(file, &status);
    ftruncate(file, 8 * 4096);
    symlink("data", "maps-files-d/link");
    int other = open("maps-files-d/link", O_RDONLY);
    char *read_only = mmap(0, 4 * 4096, PROT_READ, MAP_PRIVATE, other, 4096);
    char *own = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    char *shared = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 2 * 4096);
    char *memory = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    close(other);
    line_of("read only, by a link", read_only + 4096, status.st_ino);
    line_of("private", own, status.st_ino);
    line_of("shared", shared, status.st_ino);
    line_of("memory", memory, 0);
    /* A piece in the middle goes, and memory comes there. */
    munmap(own + 4096, 4096);
    line_of("a hole", own + 4096, 0);
    mmap(own + 4096, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    line_of("memory in it", own + 4096, 0);
    line_of("before it", own, status.st_ino);
    line_of("behind it", own + 2 * 4096, status.st_ino);
    mprotect(shared + 4096, 4096, PROT_READ);
    line_of("what may only be read", shared + 4096, status.st_ino);
    char *moved = mremap(read_only, 4 * 4096, 4 * 4096, MREMAP_MAYMOVE | MREMAP_FIXED, memory);
    line_of("what was moved", moved, status.st_ino);
    read_only = mmap(read_only, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    line_of("memory where it was", read_only, 0);
    unlink("maps-files-d/data");
    line_of("a file without a name", moved, 0);
    /* The program itself. */
    stat("/proc/self/exe", &status);
    line_of("the program", (void *)(uintptr_t)((uintptr_t)main & -4096), status.st_ino);
    return 0;
}
