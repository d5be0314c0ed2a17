/* call: userfaultfd, mprotect; covers: pages that may not be written until a thread lets them */
#include "check.h"

#include <linux/userfaultfd.h>

#define PAGE 4096L

static int fd;
static char *start;

static int protect(char *from, long size, __u64 mode)
{
    struct uffdio_writeprotect range = {.range = {(long)from, size}, .mode = mode};
    return ioctl(fd, UFFDIO_WRITEPROTECT, &range);
}

static void *allower(void *count)
{
    for (long left = (long)count; left; left--) {
        struct uffd_msg message;
        if (read(fd, &message, sizeof message) != sizeof message) return "read";
        long index = ((long)message.arg.pagefault.address - (long)start) / PAGE;
        note("page %ld, flags %llx\n", index, message.arg.pagefault.flags);
        if (message.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP) {
            note("%d\n", protect(start + index * PAGE, PAGE, 0));
        } else {
            static char page[PAGE] = "new";
            struct uffdio_copy copied = {.dst = (long)start + index * PAGE, .src = (long)page, .len = PAGE, .mode = UFFDIO_COPY_MODE_WP};
            note("%d\n", ioctl(fd, UFFDIO_COPY, &copied));
        }
    }
    return NULL;
}

static void begin(__u64 mode)
{
    fd = syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP};
    SHOW(ioctl(fd, UFFDIO_API, &api));
    start = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mode & UFFDIO_REGISTER_MODE_MISSING) start[7 * PAGE] = 1;
    else memset(start, 'x', 8 * PAGE);
    struct uffdio_register area = {.range = {(long)start, 8 * PAGE}, .mode = mode};
    SHOW(ioctl(fd, UFFDIO_REGISTER, &area));
    say("requests %llx\n", area.ioctls);
}

static void written(void)
{
    begin(UFFDIO_REGISTER_MODE_WP);
    SHOW(protect(start, 4 * PAGE, UFFDIO_WRITEPROTECT_MODE_WP));
    pthread_t thread;
    pthread_create(&thread, NULL, allower, (void *)3);
    say("%c\n", start[0]);
    start[4 * PAGE] = 'a';
    start[0] = 'b';
    start[1] = 'c';
    start[2 * PAGE + 9] = 'd';
    int ends[2];
    pipe(ends);
    SHOW(write(ends[1], start + 3 * PAGE, 4));
    SHOW(read(ends[0], start + 3 * PAGE + 4, 4));
    void *result;
    pthread_join(thread, &result);
    say("%s", notes);
    say("%s %.2s %c\n", result ? (char *)result : "done", start, start[2 * PAGE + 9]);
    SHOW(protect(start, 2 * PAGE, UFFDIO_WRITEPROTECT_MODE_WP));
    SHOW(protect(start, PAGE, 3));
    SHOW(protect(start, PAGE, 4));
    SHOW(protect(start + 1, PAGE, 0));
    struct uffdio_range range = {(long)start, 8 * PAGE};
    SHOW(ioctl(fd, UFFDIO_UNREGISTER, &range));
    start[0] = 'e';
    SHOW(protect(start, PAGE, UFFDIO_WRITEPROTECT_MODE_WP));
    say("%.3s\n", start);
}

static void both(void)
{
    begin(UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP);
    pthread_t thread;
    pthread_create(&thread, NULL, allower, (void *)3);
    say("%s\n", start);
    start[0] = 'N';
    say("%s\n", start);
    SHOW(protect(start + 7 * PAGE, PAGE, UFFDIO_WRITEPROTECT_MODE_WP));
    start[7 * PAGE] = 2;
    SHOW(mprotect(start, 8 * PAGE, PROT_READ));
    SHOW(mprotect(start, 8 * PAGE, PROT_READ | PROT_WRITE));
    start[1] = 'E';
    pthread_join(thread, NULL);
    say("%s", notes);
    say("%s %d\n", start, start[7 * PAGE]);
}

int main(void)
{
    in_child(written);
    in_child(both);
    return 0;
}
