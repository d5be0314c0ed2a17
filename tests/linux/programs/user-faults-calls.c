/* call: userfaultfd, read, write, rt_sigaction; covers: calls that need a missing page, signals and ends while a thread waits for one, a fault that is a signal, a file that is closed */
#include "check.h"

#include <linux/userfaultfd.h>

#define PAGE 4096L

static int fd;
static char *start;
static volatile int stage;

static void begin(__u64 features, int flags)
{
    fd = syscall(SYS_userfaultfd, O_CLOEXEC | flags);
    struct uffdio_api api = {.api = UFFD_API, .features = features};
    SHOW(ioctl(fd, UFFDIO_API, &api));
    start = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register area = {.range = {(long)start, 8 * PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    SHOW(ioctl(fd, UFFDIO_REGISTER, &area));
}

static long bring(char fill)
{
    static char page[PAGE];
    struct uffd_msg message;
    if (read(fd, &message, sizeof message) != sizeof message) return -1;
    long at = message.arg.pagefault.address;
    memset(page, fill, PAGE);
    page[PAGE - 1] = 0;
    struct uffdio_copy copied = {.dst = at, .src = (long)page, .len = PAGE};
    if (ioctl(fd, UFFDIO_COPY, &copied)) return -1;
    return (at - (long)start) / PAGE;
}

static void *bringer(void *count)
{
    for (long left = (long)count; left; left--) {
        long page = bring('f');
        note("brought %ld\n", page);
    }
    return NULL;
}

static void calls(void)
{
    begin(0, 0);
    int ends[2];
    pipe(ends);
    pthread_t thread;
    pthread_create(&thread, NULL, bringer, (void *)5);
    SHOW(write(ends[1], start, 4));
    char got[5] = "";
    SHOW(read(ends[0], got, 4));
    say("%s\n", got);
    SHOW(write(ends[1], "abc", 3));
    SHOW(read(ends[0], start + PAGE + 8, 3));
    say("%.12s\n", start + PAGE);
    SHOW(open(start + 2 * PAGE, O_RDONLY));
    struct iovec pieces[2] = {{start + 3 * PAGE, 2}, {start + 4 * PAGE, 2}};
    SHOW(writev(ends[1], pieces, 2));
    pthread_join(thread, NULL);
    say("%s", notes);
}

static void caught(int number)
{
    note("%s at stage %d\n", signal_name(number), stage);
}

static void *toucher(void *page)
{
    return (void *)(long)*(volatile char *)page;
}

static void signals(void)
{
    begin(0, 0);
    handle(SIGUSR1, caught, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, toucher, start);
    nap(50);
    stage = 1;
    pthread_kill(thread, SIGUSR1);
    nap(50);
    stage = 2;
    say("brought %ld\n", bring('s'));
    void *value;
    pthread_join(thread, &value);
    say("%s", notes);
    say("%c\n", (char)(long)value);
}

static void killed(void)
{
    begin(0, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, toucher, start);
    nap(50);
    raise(SIGTERM);
}

static void ended(void)
{
    begin(0, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, toucher, start);
    nap(50);
    exit(3);
}

static void closed(void)
{
    begin(0, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, toucher, start);
    nap(50);
    SHOW(close(fd));
    void *value;
    pthread_join(thread, &value);
    say("%ld %d\n", (long)value, start[PAGE]);
}

static sigjmp_buf place;

static void broken(int number, siginfo_t *info, void *context)
{
    (void)context;
    say("%s %d %ld\n", signal_name(number), info->si_code, ((long)info->si_addr - (long)start));
    siglongjmp(place, 1);
}

static void signal_instead(void)
{
    begin(UFFD_FEATURE_SIGBUS, 0);
    handle_info(SIGBUS, broken, 0);
    if (sigsetjmp(place, 1) == 0) start[PAGE + 5] = 1;
    SHOW(getcwd(start, 100));
}

static void forked(void)
{
    begin(0, O_NONBLOCK);
    pid_t child = fork();
    if (child == 0) {
        say("%d\n", start[0]);
        _exit(0);
    }
    wait_for(child);
    struct uffd_msg message;
    SHOW(read(fd, &message, sizeof message));
}

static void several(void)
{
    begin(0, 0);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, toucher, start + i / 2 * PAGE);
    nap(50);
    int seen = 0;
    for (int i = 0; i < 4; i++) {
        struct uffd_msg message;
        if (read(fd, &message, sizeof message) == sizeof message) seen++;
    }
    say("%d told\n", seen);
    struct uffdio_zeropage zeros = {.range = {(long)start, 2 * PAGE}, .mode = UFFDIO_ZEROPAGE_MODE_DONTWAKE};
    SHOW(ioctl(fd, UFFDIO_ZEROPAGE, &zeros));
    struct uffdio_range range = {(long)start, 2 * PAGE};
    SHOW(ioctl(fd, UFFDIO_WAKE, &range));
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

int main(void)
{
    in_child(calls);
    in_child(signals);
    in_child(killed);
    in_child(ended);
    in_child(closed);
    in_child(signal_instead);
    in_child(forked);
    in_child(several);
    return 0;
}
