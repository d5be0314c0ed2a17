/* call: read, madvise, mmap, mprotect, fork, userfaultfd; covers: memory that another thread empties, maps anew, protects, copies or has told of while a thread waits for bytes to it */
#include "check.h"

#include <linux/userfaultfd.h>

#define PAGE 4096L
#define SIZE (1L << 20)

static int ends[2];
static char *start;

static void *reader(void *unused)
{
    (void)unused;
    long got = read(ends[0], start + PAGE - 3, 8);
    note("read %ld, errno %d\n", got, got < 0 ? errno : 0);
    return NULL;
}

static void change(void (*one)(void))
{
    static const int kinds[2] = {AF_INET, AF_UNIX};
    for (int kind = 0; kind < 2; kind++) {
        if (kinds[kind] == AF_UNIX) socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
        else pipe(ends);
        start = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(start, 'x', 2 * PAGE);
        pthread_t thread;
        pthread_create(&thread, NULL, reader, NULL);
        nap(50);
        one();
        SHOW(write(ends[1], "abcdefgh", 8));
        pthread_join(thread, NULL);
        if (mprotect(start, SIZE, PROT_READ | PROT_WRITE) == 0) say("%d %.8s %d\n", start[0], start + PAGE - 3, start[PAGE + 5]);
        close(ends[0]);
        close(ends[1]);
        munmap(start, SIZE);
    }
    say("%s", notes);
}

static void emptied(void)
{
    SHOW(madvise(start, SIZE, MADV_DONTNEED));
}

static void mapped(void)
{
    HOLDS(mmap(start, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == start);
}

static void reserved(void)
{
    HOLDS(mmap(start, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == start);
}

static void shared(void)
{
    HOLDS(mmap(start, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == start);
}

static void split(void)
{
    SHOW(mprotect(start, PAGE, PROT_NONE));
    SHOW(mprotect(start, PAGE, PROT_READ | PROT_WRITE));
}

static void forked(void)
{
    pid_t child = fork();
    if (child == 0) _exit(start[0] == 'x' ? 7 : 1);
    wait_for(child);
}

static void filled(void)
{
    int fd = open("file", O_RDWR | O_CREAT, 0600);
    ftruncate(fd, SIZE);
    HOLDS(mmap(start, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) == start);
    close(fd);
}

static int faults;

static void *bringer(void *unused)
{
    (void)unused;
    for (int count = 0; count < 2; count++) {
        struct uffd_msg message;
        if (read(faults, &message, sizeof message) != sizeof message) return NULL;
        note("page %ld\n", ((long)message.arg.pagefault.address - (long)start) / PAGE);
        struct uffdio_zeropage zeros = {.range = {(long)message.arg.pagefault.address, PAGE}};
        ioctl(faults, UFFDIO_ZEROPAGE, &zeros);
    }
    return NULL;
}

static pthread_t bringing;

static void told(void)
{
    faults = syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    SHOW(ioctl(faults, UFFDIO_API, &api));
    SHOW(madvise(start, SIZE, MADV_DONTNEED));
    struct uffdio_register area = {.range = {(long)start, SIZE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    SHOW(ioctl(faults, UFFDIO_REGISTER, &area));
    pthread_create(&bringing, NULL, bringer, NULL);
}

static void tell(void)
{
    change(told);
}

static void run_emptied(void) { change(emptied); }
static void run_mapped(void) { change(mapped); }
static void run_reserved(void) { change(reserved); }
static void run_shared(void) { change(shared); }
static void run_split(void) { change(split); }
static void run_forked(void) { change(forked); }
static void run_filled(void) { change(filled); }

int main(void)
{
    in_child(run_emptied);
    in_child(run_mapped);
    in_child(run_reserved);
    in_child(run_shared);
    in_child(run_split);
    in_child(run_forked);
    in_child(run_filled);
    in_child(tell);
    return 0;
}
