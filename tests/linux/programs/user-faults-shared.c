/* call: userfaultfd; covers: shared memory, pages that others have, protected pages of it, errors */
#include "check.h"

#include <linux/userfaultfd.h>

#define PAGE 4096L
#define PAGES 16L

/* Newer than some headers. */
#define MINOR_SHARED (1ULL << 10)
#define PROTECT_SHARED (1ULL << 12)
#define MODE_MINOR (1ULL << 2)
#define FLAG_MINOR (1ULL << 2)

struct go_on {
    struct uffdio_range range;
    __u64 mode;
    __s64 mapped;
};
#define CONTINUE _IOWR(UFFDIO, 7, struct go_on)

static int fd;
static char *watched;

static int watch(char *start, long size, __u64 mode)
{
    struct uffdio_register area = {.range = {(long)start, size}, .mode = mode};
    int result = ioctl(fd, UFFDIO_REGISTER, &area);
    int error = errno;
    if (result == 0) say("requests %llx\n", area.ioctls);
    errno = error;
    return result;
}

static int unwatch(char *start, long size)
{
    struct uffdio_range range = {(long)start, size};
    return ioctl(fd, UFFDIO_UNREGISTER, &range);
}

static int copy(char *to, const char *from, long size, __u64 mode)
{
    struct uffdio_copy copied = {.dst = (long)to, .src = (long)from, .len = size, .mode = mode};
    int result = ioctl(fd, UFFDIO_COPY, &copied);
    int error = errno;
    say("copied %lld\n", (long long)copied.copy);
    errno = error;
    return result;
}

static int go_on(char *start, long size, __u64 mode)
{
    struct go_on pages = {{(long)start, size}, mode, 0};
    int result = ioctl(fd, CONTINUE, &pages);
    int error = errno;
    say("shown %lld\n", (long long)pages.mapped);
    errno = error;
    return result;
}

static int protect(char *start, long size, __u64 mode)
{
    struct uffdio_writeprotect range = {.range = {(long)start, size}, .mode = mode};
    return ioctl(fd, UFFDIO_WRITEPROTECT, &range);
}

/* Brings pages that are missing, shows those that others have, and lets protected ones be written. The last page ends it. */
static void *handler(void *nothing)
{
    static char page[PAGE] __attribute__((aligned(4096)));
    for (;;) {
        struct uffd_msg message;
        struct pollfd waiting = {fd, POLLIN, 0};
        if (poll(&waiting, 1, -1) != 1) return "poll";
        if (read(fd, &message, sizeof message) != sizeof message) return "read";
        if (message.event != UFFD_EVENT_PAGEFAULT) return "event";
        long index = ((long)message.arg.pagefault.address - (long)watched) / PAGE;
        __u64 flags = message.arg.pagefault.flags;
        note("page %ld, flags %llx\n", index, flags);
        struct uffdio_range range = {message.arg.pagefault.address, PAGE};
        struct go_on shown = {range, 0, 0};
        struct uffdio_writeprotect writable = {.range = range};
        struct uffdio_copy copied = {.dst = range.start, .src = (long)page, .len = PAGE};
        memset(page, 'a' + index, PAGE);
        int result = flags & UFFD_PAGEFAULT_FLAG_WP ? ioctl(fd, UFFDIO_WRITEPROTECT, &writable)
                     : flags & FLAG_MINOR           ? ioctl(fd, CONTINUE, &shown)
                                                    : ioctl(fd, UFFDIO_COPY, &copied);
        if (result != 0) return "request";
        if (index == PAGES - 1) return nothing;
    }
}

static void begin(pthread_t *thread, char *start)
{
    watched = start;
    pthread_create(thread, NULL, handler, NULL);
}

static void end(pthread_t thread)
{
    void *result;
    say("%c\n", watched[(PAGES - 1) * PAGE]);
    pthread_join(thread, &result);
    say("%s%s\n", notes, result ? (char *)result : "done");
    notes[0] = 0;
}

/* Pages of a file in memory, which is mapped twice. */
static void of_file(void)
{
    int file = memfd_create("pages", 0);
    SHOW(ftruncate(file, PAGES * PAGE));
    char *here = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    char *there = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    there[3 * PAGE] = 'x';
    there[4 * PAGE] = 'y';
    SHOW(watch(here, PAGES * PAGE, UFFDIO_REGISTER_MODE_MISSING | MODE_MINOR));
    pthread_t thread;
    begin(&thread, here);
    say("%c %d\n", here[3 * PAGE], here[3 * PAGE + 1]);
    here[4 * PAGE] = 'z';
    say("%c\n", there[4 * PAGE]);
    /* A page that somebody has read, and nobody written, is there on Linux alone. */
    say("%c\n", here[5 * PAGE]);
    say("%c\n", there[5 * PAGE + 9]);
    there[5 * PAGE] = 'w';
    here[6 * PAGE + 1] = 'v';
    say("%c %c %c\n", here[5 * PAGE], there[6 * PAGE], there[6 * PAGE + 1]);
    there[7 * PAGE] = 'u';
    SHOW(pwrite(file, "file", 4, 8 * PAGE));
    SHOW(pread(file, here + 7 * PAGE, 4, 8 * PAGE));
    say("%.4s %.4s\n", there + 7 * PAGE, here + 8 * PAGE);
    SHOW(madvise(here + 3 * PAGE, 2 * PAGE, MADV_DONTNEED));
    say("%c %c\n", here[3 * PAGE], here[4 * PAGE]);
    SHOW(madvise(here + 3 * PAGE, PAGE, MADV_REMOVE));
    say("%c\n", here[3 * PAGE]);
    say("%c\n", there[3 * PAGE + 5]);
    end(thread);
    there[9 * PAGE] = there[10 * PAGE] = 's';
    static char bytes[PAGE] = "bytes";
    SHOW(copy(here + 9 * PAGE, bytes, PAGE, 0));
    SHOW(go_on(here + 9 * PAGE, 3 * PAGE, 0));
    SHOW(go_on(here + 9 * PAGE, PAGE, 0));
    SHOW(go_on(here + 11 * PAGE, PAGE, 0));
    SHOW(go_on(here + 1, PAGE, 0));
    SHOW(go_on(here + 9 * PAGE, PAGE, 4));
    SHOW(copy(here + 11 * PAGE, bytes, PAGE, 0));
    say("%c %c %s\n", here[9 * PAGE], here[10 * PAGE], there + 11 * PAGE);
    SHOW(unwatch(here, PAGES * PAGE));
    say("%d %c\n", here[12 * PAGE], here[9 * PAGE]);
    close(file);
}

/* Shared memory without a name, with a child, and pages that may not be written. */
static void of_family(void)
{
    char *shared = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared[1 * PAGE] = 'o';
    SHOW(watch(shared, PAGES * PAGE, UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP));
    pid_t child = fork();
    if (child == 0) {
        shared[2 * PAGE] = 'c';
        _exit(shared[1 * PAGE] == 'o' ? 7 : 1);
    }
    int status;
    HOLDS(waitpid(child, &status, 0) == child);
    say("%x\n", status);
    pthread_t thread;
    begin(&thread, shared);
    say("%c %c %c\n", shared[1 * PAGE], shared[2 * PAGE], shared[3 * PAGE]);
    SHOW(protect(shared + PAGE, 3 * PAGE, UFFDIO_WRITEPROTECT_MODE_WP));
    say("%c\n", shared[2 * PAGE]);
    shared[2 * PAGE] = 'n';
    shared[3 * PAGE] = 'm';
    say("%c %c\n", shared[2 * PAGE], shared[3 * PAGE]);
    end(thread);
    SHOW(munmap(shared, PAGES * PAGE));
}

int main(void)
{
    fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    HOLDS(fd >= 0);
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_MISSING_SHMEM | MINOR_SHARED | PROTECT_SHARED};
    SHOW(ioctl(fd, UFFDIO_API, &api));
    say("features %llx\n", api.features & (UFFD_FEATURE_MISSING_SHMEM | MINOR_SHARED | PROTECT_SHARED));
    char *own = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SHOW(watch(own, PAGES * PAGE, MODE_MINOR));
    SHOW(watch(own, PAGES * PAGE, UFFDIO_REGISTER_MODE_MISSING));
    SHOW(go_on(own, PAGE, 0));
    SHOW(unwatch(own, PAGES * PAGE));
    of_file();
    of_family();
    return 0;
}
