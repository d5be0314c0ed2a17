/* call: userfaultfd; covers: missing pages that a thread brings, answers of requests, errors */
#include "check.h"

#include <linux/userfaultfd.h>

#define PAGE 4096L

static int fd;
static int faults;
static volatile long faulty_thread;

static void api(int file, __u64 features)
{
    struct uffdio_api api = {.api = UFFD_API, .features = features};
    SHOW(ioctl(file, UFFDIO_API, &api));
    __u64 known = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_SIGBUS | UFFD_FEATURE_THREAD_ID;
    say("features %llx requests %llx\n", api.features & known, api.ioctls);
}

static int watch(char *start, long size, __u64 mode)
{
    struct uffdio_register area = {.range = {(long)start, size}, .mode = mode};
    int result = ioctl(fd, UFFDIO_REGISTER, &area);
    int error = errno;
    if (result == 0) say("requests %llx\n", area.ioctls);
    errno = error;
    return result;
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

static int zero(char *to, long size)
{
    struct uffdio_zeropage zeros = {.range = {(long)to, size}};
    int result = ioctl(fd, UFFDIO_ZEROPAGE, &zeros);
    int error = errno;
    say("zeros %lld\n", (long long)zeros.zeropage);
    errno = error;
    return result;
}

static void *handler(void *start)
{
    static char page[PAGE] __attribute__((aligned(4096)));
    for (;;) {
        struct uffd_msg message;
        struct pollfd waiting = {fd, POLLIN, 0};
        if (poll(&waiting, 1, -1) != 1 || waiting.revents != POLLIN) return "poll";
        if (read(fd, &message, sizeof message) != sizeof message) return "read";
        if (message.event != UFFD_EVENT_PAGEFAULT) return "event";
        faults++;
        long index = ((long)message.arg.pagefault.address - (long)start) / PAGE;
        note("page %ld, flags %llx, thread %s\n", index, message.arg.pagefault.flags, message.arg.pagefault.feat.ptid == faulty_thread ? "right" : "WRONG");
        memset(page, 'a' + index, PAGE);
        struct uffdio_zeropage zeros = {.range = {message.arg.pagefault.address, PAGE}};
        struct uffdio_copy copied = {.dst = message.arg.pagefault.address, .src = (long)page, .len = PAGE};
        int result = index == 3 ? ioctl(fd, UFFDIO_ZEROPAGE, &zeros) : ioctl(fd, UFFDIO_COPY, &copied);
        note("%d %lld %lld\n", result, (long long)zeros.zeropage, (long long)copied.copy);
        if (index == 7) return NULL;
    }
}

static void errors(char *start)
{
    static char bytes[3 * PAGE];
    SHOW(syscall(SYS_userfaultfd, 2));
    int other = syscall(SYS_userfaultfd, O_NONBLOCK);
    struct uffdio_range range = {(long)start, PAGE};
    SHOW(ioctl(other, UFFDIO_WAKE, &range));
    struct uffd_msg message;
    SHOW(read(other, &message, sizeof message));
    struct pollfd waiting = {other, POLLIN, 0};
    SHOW(poll(&waiting, 1, 0));
    say("%x\n", waiting.revents);
    struct uffdio_api wrong = {.api = 1};
    SHOW(ioctl(other, UFFDIO_API, &wrong));
    api(other, 1ULL << 60);
    api(other, 0);
    api(other, 0);
    SHOW(read(other, &message, 8));
    SHOW(read(other, &message, sizeof message));
    SHOW(write(other, &message, sizeof message));
    SHOW(poll(&waiting, 1, 0));
    struct uffdio_register area = {.range = {(long)start, PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    SHOW(ioctl(other, UFFDIO_REGISTER, &area));
    close(other);
    SHOW(watch(start + 1, PAGE, UFFDIO_REGISTER_MODE_MISSING));
    SHOW(watch(start, 0, UFFDIO_REGISTER_MODE_MISSING));
    SHOW(watch(start, PAGE, 0));
    SHOW(watch(start, PAGE, 8));
    SHOW(copy(start, bytes, PAGE, 0));
    SHOW(copy(start + 8 * PAGE, bytes + 5, 2 * PAGE, 0));
    SHOW(copy(start + 9 * PAGE, bytes, PAGE, 4));
    SHOW(copy(start + 9 * PAGE, bytes, PAGE, UFFDIO_COPY_MODE_WP));
    SHOW(copy(start + 1, bytes, PAGE, 0));
    SHOW(copy(start + 10 * PAGE, (char *)8, PAGE, 0));
    SHOW(copy(bytes, bytes, PAGE, 0));
    SHOW(zero(start + 15 * PAGE, PAGE));
    SHOW(zero(start + 14 * PAGE, 2 * PAGE));
    say("%d %d\n", start[8 * PAGE], start[15 * PAGE]);
    SHOW(ioctl(fd, 0x1234));
}

int main(void)
{
    fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    HOLDS(fd >= 0);
    api(fd, UFFD_FEATURE_THREAD_ID);
    char *start = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    start[PAGE] = 'x';
    SHOW(watch(start, 16 * PAGE, UFFDIO_REGISTER_MODE_MISSING));
    faulty_thread = syscall(SYS_gettid);
    pthread_t thread;
    pthread_create(&thread, NULL, handler, start);
    say("%c\n", start[0]);
    say("%c\n", start[PAGE]);
    start[2 * PAGE] = 'w';
    say("%c%c\n", start[2 * PAGE], start[2 * PAGE + 1]);
    say("%d\n", start[3 * PAGE + 17]);
    SHOW(madvise(start, 2 * PAGE, MADV_DONTNEED));
    say("%c%c\n", start[0], start[PAGE + 5]);
    say("%c\n", start[7 * PAGE]);
    void *result;
    pthread_join(thread, &result);
    say("%s", notes);
    say("%s, %d faults\n", result ? (char *)result : "done", faults);
    errors(start);
    struct uffdio_range range = {(long)start, 16 * PAGE};
    SHOW(ioctl(fd, UFFDIO_UNREGISTER, &range));
    say("%d %c\n", start[11 * PAGE], start[0]);
    return 0;
}
