/* Memory over a monitor that puts pages away: which are there, which stay, and what advice does. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096L
#define KEPT 16
#define MUCH 1024

static int count(char *start, int pages)
{
    unsigned char seen[MUCH];
    int found = 0;
    if (mincore(start, pages * PAGE, seen)) return -1;
    for (int page = 0; page < pages; page++) found += seen[page] & 1;
    return found;
}

#define THERE (1ULL << 63)
#define AWAY (1ULL << 62)

/* Pages whose entry in pagemap has one of these bits. */
static int marked(char *start, int pages, uint64_t bits)
{
    int file = open("/proc/self/pagemap", O_RDONLY), found = 0;
    for (int page = 0; page < pages; page++) {
        uint64_t entry = 0;
        if (pread(file, &entry, 8, ((long)start / PAGE + page) * 8) != 8) return -1;
        found += (entry & bits) != 0;
    }
    close(file);
    return found;
}

/* Kilobytes of a name in a file, summed over its lines. */
static long kilobytes(const char *path, const char *name)
{
    char line[512];
    long sum = 0, value;
    FILE *file = fopen(path, "r");
    while (fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0 && sscanf(line + strlen(name), "%ld", &value) == 1) sum += value;
    fclose(file);
    return sum;
}

static void fill(char *start, int pages)
{
    for (int page = 0; page < pages; page++) memset(start + page * PAGE, page % 100 + 1, PAGE);
}

static int is_whole(char *start, int pages)
{
    for (int page = 0; page < pages; page++)
        if (start[page * PAGE] != page % 100 + 1 || start[page * PAGE + PAGE - 1] != page % 100 + 1) return 0;
    return 1;
}

int main(void)
{
    char *much = mmap(NULL, MUCH * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *kept = mmap(NULL, KEPT * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fill(kept, KEPT);
    printf("lock: %d\n", mlock(kept, KEPT * PAGE));
    fill(much, MUCH);
    printf("kept: %d of %d, %s of the others\n", count(kept, KEPT), KEPT, count(much, MUCH) < MUCH ? "some" : "all");
    printf("in pagemap: %d there, %d away\n", marked(kept, KEPT, THERE), marked(kept, KEPT, AWAY));
    printf("others away: %s, there or away: %d\n", marked(much, MUCH, AWAY) > 0 ? "some" : "none", marked(much, MUCH, THERE | AWAY));
    printf("smaps tells: %d, status: %d\n", kilobytes("/proc/self/smaps", "Swap:") > 0, kilobytes("/proc/self/status", "VmSwap:") > 0);
    printf("advice on locked pages: %d\n", madvise(kept, KEPT * PAGE, MADV_PAGEOUT) == -1 && errno == EINVAL);
    int child = fork();
    if (child == 0) {
        kept[0] = 1;
        _exit(!is_whole(kept, KEPT));
    }
    int status = 1;
    waitpid(child, &status, 0);
    fill(much, MUCH);
    printf("after a fork: %d, kept: %d\n", status, count(kept, KEPT));
    printf("unlock: %d\n", munlock(kept, KEPT * PAGE));
    printf("put away: %d", madvise(kept, KEPT * PAGE, MADV_PAGEOUT));
    printf(", there: %d, away: %d\n", count(kept, KEPT), marked(kept, KEPT, AWAY));
    printf("wanted: %d", madvise(kept, KEPT * PAGE, MADV_WILLNEED));
    printf(", there: %d\n", count(kept, KEPT));
    printf("whole: %d %d\n", is_whole(kept, KEPT), is_whole(much, MUCH));
    printf("too much: %d\n", mlock(much, MUCH * PAGE) == -1 && errno == ENOMEM);
    printf("later: %d\n", mlock2(much, KEPT * PAGE, MLOCK_ONFAULT));
    printf("whole: %d\n", is_whole(much, MUCH));
    return 0;
}
