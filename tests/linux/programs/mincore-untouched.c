/* call: mincore, mlock, mlock2, madvise; covers: which pages are there, as the calls, pagemap, smaps and status tell */
#include "check.h"

#define PAGE 4096L
#define PAGES 512

static char *pages;

static int there(long page)
{
    unsigned char seen[PAGES];
    if (mincore(pages, PAGES * PAGE, seen)) return -1;
    return seen[page] & 1;
}

/* Pages that nobody has locked may go again: most are there, whatever goes meanwhile. */
static int count_there(void)
{
    unsigned char seen[PAGES];
    int count = 0;
    if (mincore(pages, PAGES * PAGE, seen)) return -1;
    for (int page = 0; page < PAGES; page++)
        count += seen[page] & 1;
    return count;
}

static int mapped(long page)
{
    uint64_t entry = 0;
    int file = open("/proc/self/pagemap", O_RDONLY);
    if (pread(file, &entry, 8, ((long)pages / PAGE + page) * 8) != 8) return -1;
    close(file);
    return entry >> 63;
}

/* The kilobytes of a name in the part of the file that begins with the area's line. */
static long kilobytes(const char *path, const char *name)
{
    char line[512], start[32];
    long value = -1;
    int inside = strstr(path, "smaps") == NULL;
    snprintf(start, sizeof start, "%lx-", (long)pages);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, start, strlen(start)) == 0) inside = 1;
        if (inside && strncmp(line, name, strlen(name)) == 0) {
            value = atol(line + strlen(name));
            break;
        }
    }
    if (file) fclose(file);
    return value;
}

int main(void)
{
    pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(pages, PAGES * PAGE, MADV_NOHUGEPAGE);
    say("%d %d %d\n", there(0), there(256), there(511));
    pages[256 * PAGE] = 1;
    say("%d %d %d\n", there(0), there(256), there(511));
    say("%d %d %d\n", mapped(0), mapped(256), mapped(511));
    HOLDS(kilobytes("/proc/self/smaps", "Size:") >= 2048);
    HOLDS(kilobytes("/proc/self/smaps", "Rss:") < 2048);
    SHOW(mlock2(pages, PAGES * PAGE, MLOCK_ONFAULT));
    say("%d %d\n", there(0), there(256));
    say("%ld\n", kilobytes("/proc/self/status", "VmLck:"));
    SHOW(mlock(pages, PAGES * PAGE));
    say("%d %d %d, %d\n", there(0), there(256), there(511), mapped(0));
    HOLDS(kilobytes("/proc/self/smaps", "Rss:") >= 2048);
    HOLDS(kilobytes("/proc/self/smaps_rollup", "Rss:") >= 2048);
    HOLDS(kilobytes("/proc/self/status", "VmRSS:") >= 2048);
    SHOW(munlock(pages, PAGES * PAGE));
    SHOW(madvise(pages, PAGES * PAGE, MADV_DONTNEED));
    say("%d %d\n", there(0), there(256));
    SHOW(madvise(pages, PAGES * PAGE, MADV_POPULATE_READ));
    HOLDS(count_there() >= PAGES / 2 && there(511));
    SHOW(mprotect(pages, PAGE, PROT_NONE));
    SHOW(madvise(pages, PAGE, MADV_POPULATE_WRITE) == -1);
    return 0;
}
