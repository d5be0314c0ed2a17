/* call: userfaultfd, munmap, mmap, madvise, mremap, read, poll; covers: changes of registered memory that the file is told of */
#include "check.h"

#include <linux/userfaultfd.h>

#define PAGE 4096L
#define PAGES 8

static int fd;
static char *start;

static void begin(__u64 features)
{
    fd = syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API, .features = features};
    SHOW(ioctl(fd, UFFDIO_API, &api));
    start = mmap(NULL, (PAGES + 8) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mmap(start, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memset(start, 'x', PAGES * PAGE);
    struct uffdio_register area = {.range = {(long)start, PAGES * PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    SHOW(ioctl(fd, UFFDIO_REGISTER, &area));
}

static long page_of(__u64 address)
{
    return ((long)address - (long)start) / PAGE;
}

/* Reads messages until a page was asked for, which it brings. */
static void *reader(void *unused)
{
    (void)unused;
    for (;;) {
        struct uffd_msg message;
        nap(30);
        if (read(fd, &message, sizeof message) != sizeof message) return NULL;
        switch (message.event) {
        case UFFD_EVENT_REMOVE:
            note("emptied %ld to %ld\n", page_of(message.arg.remove.start), page_of(message.arg.remove.end));
            break;
        case UFFD_EVENT_UNMAP:
            note("unmapped %ld to %ld\n", page_of(message.arg.remove.start), page_of(message.arg.remove.end));
            break;
        case UFFD_EVENT_REMAP:
            note("moved from %ld, %lld pages\n", page_of(message.arg.remap.from), message.arg.remap.len / PAGE);
            start = (char *)message.arg.remap.to;
            break;
        case UFFD_EVENT_PAGEFAULT: {
            static char bytes[PAGE] = "brought";
            note("page %ld\n", page_of(message.arg.pagefault.address));
            struct uffdio_copy copied = {.dst = message.arg.pagefault.address, .src = (long)bytes, .len = PAGE};
            note("copied: %d\n", ioctl(fd, UFFDIO_COPY, &copied));
            return NULL;
        }
        }
    }
}

static pthread_t thread;

static void hear(void)
{
    pthread_create(&thread, NULL, reader, NULL);
}

static void heard(char *touched)
{
    say("%s\n", touched);
    pthread_join(thread, NULL);
    say("%s", notes);
}

static void emptied(void)
{
    begin(UFFD_FEATURE_EVENT_REMOVE);
    hear();
    SHOW(madvise(start + PAGE, 3 * PAGE, MADV_DONTNEED));
    SHOW(madvise(start + 5 * PAGE, PAGE, MADV_DONTNEED));
    heard(start + 2 * PAGE);
    say("%.1s\n", start);
}

static void unmapped(void)
{
    begin(UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE);
    hear();
    SHOW(munmap(start + PAGE, 2 * PAGE));
    HOLDS(mmap(start + 4 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == start + 4 * PAGE);
    SHOW(madvise(start + 7 * PAGE, PAGE, MADV_DONTNEED));
    say("%d\n", start[4 * PAGE]);
    heard(start + 7 * PAGE);
}

static void moved(void)
{
    begin(UFFD_FEATURE_EVENT_REMAP);
    madvise(start + 3 * PAGE, PAGE, MADV_DONTNEED);
    hear();
    char *old = start, *to = mremap(start, PAGES * PAGE, (PAGES + 2) * PAGE, MREMAP_MAYMOVE);
    HOLDS(to != old && to != MAP_FAILED);
    say("%.1s\n", to + 2 * PAGE);
    heard(to + 3 * PAGE);
}

static void unwanted(void)
{
    begin(0);
    SHOW(madvise(start, PAGE, MADV_DONTNEED));
    SHOW(munmap(start + PAGE, PAGE));
    SHOW(fcntl(fd, F_SETFL, O_NONBLOCK));
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    SHOW(poll(&polled, 1, 0));
    char *to = mremap(start + 2 * PAGE, 6 * PAGE, 16 * PAGE, MREMAP_MAYMOVE);
    say("%.1s %d\n", to, to[7 * PAGE]);
}


int main(void)
{
    in_child(emptied);
    in_child(unmapped);
    in_child(moved);
    in_child(unwanted);
    return 0;
}
