// Makes thousands of areas and forks again and again, while memory may be out at any moment: each call works or has an error. Ends with 0 if it lives on
// and no fork was lost. Made to run below `tests/faulty`.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 1600
#define STEP 53
#define PAGE 4096

static char *memory;

// Cuts the memory into `count` areas: every second page may only be read.
static int cut(int from, int to) {
    for (int area = from; area < to; area += 2) {
        if (mprotect(memory + area * PAGE, PAGE, PROT_READ)) return errno == ENOMEM ? 0 : -1;
    }
    return 1;
}

// A child that lives is whole: it finds what its maker wrote, and ends with 7. One for which there is no memory once it is there dies of SIGKILL.
static int forks(int areas) {
    pid_t child = fork();
    if (child < 0) return errno == ENOMEM || errno == EAGAIN ? 0 : -1;
    if (child == 0) {
        for (int area = 0; area < areas; area += 2)
            if (memory[area * PAGE] != 1) _exit(8);
        _exit(7);
    }
    int status;
    if (waitpid(child, &status, 0) != child) return -1;
    return (WIFEXITED(status) && WEXITSTATUS(status) == 7) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ? 1 : -1;
}

static int is_refused(long result) {
    return result >= 0 || errno == ENOMEM;
}

// Calls that need memory for a moment.
static int others(void) {
    static char text[1 << 16];
    int ends[2], file = open("/etc/passwd", O_RDONLY);
    if (!is_refused(file)) return -1;
    struct iovec two[2] = {{text, 1 << 15}, {text + (1 << 15), 1 << 15}};
    if (file >= 0 && (!is_refused(readv(file, two, 2)) || !is_refused(pread(file, text, sizeof text, 0)))) return -1;
    struct pollfd many[64];
    for (int each = 0; each < 64; each++) many[each] = (struct pollfd){0, POLLIN, 0};
    if (!is_refused(poll(many, 64, 0))) return -1;
    if (file >= 0) close(file);
    file = open("/proc/self/maps", O_RDONLY);
    if (!is_refused(file) || (file >= 0 && !is_refused(read(file, text, sizeof text)))) return -1;
    if (file >= 0) close(file);
    if (!is_refused(madvise(memory, MOST * PAGE, MADV_NORMAL))) return -1;
    if (pipe(ends)) return errno == ENOMEM ? 0 : -1;
    close(ends[0]), close(ends[1]);
    return 0;
}

int main(void) {
    memory = mmap(0, MOST * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 0;
    // Nothing is written after the first fork: a page that is shared with a child since then needs memory when it is written.
    for (int area = 0; area < MOST; area++) memory[area * PAGE] = 1;
    int areas = 0;
    for (int next = STEP * 2; next < MOST; next += STEP * 2) {
        int result = cut(areas, next);
        if (result == 1) areas = next;
        if (result < 0 || others() < 0 || forks(areas) < 0) return printf("%d areas: error %d\n", areas, errno), 1;
        if (result == 0) break;
    }
    return munmap(memory, MOST * PAGE) && errno != ENOMEM ? 2 : 0;
}
