/* How the cost of Linux's system calls grows: `scale ROW:N` does one operation over N things and prints `measure ROW:N INSTRUCTIONS 0`, or `unmeasured ROW:N WHY`;
   of the rows whose name starts with memory, bytes for each of the N.
   The same file runs on Linux and on Nacre; time is the time-stamp counter, which under QEMU's instruction count advances by one with every instruction. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

enum { BATCHES = 3, PAGE = 4096, STACK = 64 << 10, REQUESTS = 20 };

static const char *row;
static size_t count;

/* Ends the measurement of an operation that does not work. */
static void need(int holds, const char *what)
{
    if (holds)
        return;
    printf("unmeasured %s: %s: %s\n", row, what, strerror(errno));
    fflush(stdout);
    _exit(1);
}

static char *map(size_t size, int protection, int flags)
{
    char *at = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    need(at != MAP_FAILED, "mmap");
    return at;
}

static void await(pid_t child)
{
    int status = 1;
    need(child > 0 && waitpid(child, &status, 0) == child && status == 0, "a child");
}

static void fork_and_wait(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    await(child);
}

static void *nothing(void *argument)
{
    return NULL;
}

static void *sleep_for_ever(void *argument)
{
    for (;;)
        pause();
}

static pthread_t start_thread(void *(*run)(void *))
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    errno = pthread_create(&thread, &attributes, run, NULL);
    need(errno == 0, "pthread_create");
    return thread;
}

/* Memory of N MiB, of which nothing is used. */
static void map_unmap(void)
{
    char *at = map(count << 20, PROT_READ | PROT_WRITE, MAP_NORESERVE);
    need(munmap(at, count << 20) == 0, "munmap");
}

static char *area;

static void prepare_touch(void)
{
    area = map(BATCHES * count * PAGE, PROT_READ | PROT_WRITE, MAP_NORESERVE);
    madvise(area, BATCHES * count * PAGE, MADV_NOHUGEPAGE);
}

static void touch(void)
{
    for (size_t page = 0; page < count; page++)
        *(volatile char *)(area + page * PAGE) = 1;
    area += count * PAGE;
}

/* Mappings that cannot be joined. */
static void prepare_mappings(void)
{
    area = map(count * PAGE, PROT_READ | PROT_WRITE, 0);
    for (size_t page = 0; page < count; page += 2)
        need(mprotect(area + page * PAGE, PAGE, PROT_READ) == 0, "mprotect");
}

static void map_fixed(void)
{
    char *at = area + count / 2 * PAGE;
    need(mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at, "mmap");
}

static void prepare_threads(void)
{
    for (size_t number = 0; number < count; number++)
        start_thread(sleep_for_ever);
    usleep(100000);
}

static void threads(void)
{
    pthread_t made[count];
    for (size_t number = 0; number < count; number++)
        made[number] = start_thread(nothing);
    for (size_t number = 0; number < count; number++)
        pthread_join(made[number], NULL);
}

/* Each thread makes some requests of a server, all at once. */
static void *request(void *argument)
{
    struct stat status;
    for (int turn = 0; turn < REQUESTS; turn++)
        need(stat("/tmp", &status) == 0, "stat");
    return NULL;
}

static uint64_t requests(void)
{
    pthread_t made[count];
    request(NULL);
    uint64_t begun = __rdtsc();
    for (size_t number = 0; number < count; number++)
        made[number] = start_thread(request);
    for (size_t number = 0; number < count; number++)
        pthread_join(made[number], NULL);
    return (__rdtsc() - begun) / (count * REQUESTS);
}

static void prepare_processes(void)
{
    for (size_t number = 0; number < count; number++) {
        pid_t idle = fork();
        need(idle >= 0, "fork");
        if (idle == 0)
            sleep_for_ever(NULL);
    }
    usleep(100000);
}

static void prepare_descriptors(void)
{
    struct rlimit limit = {count + 64, count + 64};
    setrlimit(RLIMIT_NOFILE, &limit);
    int null = open("/dev/null", O_WRONLY);
    need(null >= 0, "/dev/null");
    for (size_t number = 1; number < count; number++)
        need(dup(null) >= 0, "dup");
}

#include "events.h"

static void enter_new_directory(void)
{
    static char path[] = "/tmp/scaleXXXXXX";
    need(mkdtemp(path) != NULL && chdir(path) == 0, "a directory");
}

static int create(const char *name)
{
    int file = open(name, O_CREAT | O_RDWR, 0600);
    need(file >= 0, name);
    return file;
}

static void prepare_files(void)
{
    char name[32];
    allow_descriptors(count + 64);
    enter_new_directory();
    for (size_t number = 0; number < count; number++) {
        snprintf(name, sizeof name, "file-%zu", number);
        create(name);
    }
}

static void prepare_closed_files(void)
{
    prepare_files();
    close_range(3, ~0u, 0);
}

static void list(void)
{
    DIR *directory = opendir(".");
    size_t found = 0;
    need(directory != NULL, "opendir");
    while (readdir(directory))
        found++;
    need(found == count + 2, "readdir");
    closedir(directory);
}

/* A file below N directories, by an absolute path. */
static char *deep;

static void prepare_deep(void)
{
    enter_new_directory();
    deep = getcwd(NULL, 0);
    deep = realloc(deep, strlen(deep) + 2 * count + 8);
    for (size_t number = 0; number < count; number++) {
        need(mkdir("d", 0700) == 0 && chdir("d") == 0, "a directory");
        strcat(deep, "/d");
    }
    close(create("file"));
    strcat(deep, "/file");
}

static void open_deep(void)
{
    int file = open(deep, O_RDONLY);
    need(file >= 0 && close(file) == 0, "open");
}

/* A file in which every second byte is locked, N in all. */
static int locked;

static void lock(short kind, off_t at)
{
    struct flock part = {.l_type = kind, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
    need(fcntl(locked, F_SETLK, &part) == 0, "fcntl");
}

static void prepare_locks(void)
{
    enter_new_directory();
    locked = create("file");
    for (size_t number = 0; number < count; number++)
        lock(F_WRLCK, 4 * number);
}

static void lock_one_more(void)
{
    lock(F_WRLCK, 4 * (count / 2) + 2);
    lock(F_UNLCK, 4 * (count / 2) + 2);
}

/* Threads that wait for a round, and how many of them have seen it. */
static uint32_t round_number, awake;

static void *wait_for_rounds(void *argument)
{
    for (uint32_t seen = 0;;) {
        while (__atomic_load_n(&round_number, __ATOMIC_SEQ_CST) == seen)
            syscall(SYS_futex, &round_number, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
        seen++;
        if (__atomic_add_fetch(&awake, 1, __ATOMIC_SEQ_CST) == count)
            syscall(SYS_futex, &awake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    return NULL;
}

static void prepare_sleepers(void)
{
    for (size_t number = 0; number < count; number++)
        start_thread(wait_for_rounds);
    usleep(100000);
}

static void wake(void)
{
    awake = 0;
    __atomic_add_fetch(&round_number, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &round_number, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    for (uint32_t seen; (seen = __atomic_load_n(&awake, __ATOMIC_SEQ_CST)) != count;)
        syscall(SYS_futex, &awake, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static uint64_t free_memory(void)
{
    struct sysinfo info;
    usleep(500000);
    need(sysinfo(&info) == 0, "sysinfo");
    return (uint64_t)info.freeram * info.mem_unit;
}

static void tell(uint64_t figure)
{
    printf("measure %s %lu 0\n", row, figure);
    fflush(stdout);
    _exit(0);
}

static uint64_t memory_process(void)
{
    pid_t idle[count];
    fork_and_wait();
    uint64_t before = free_memory();
    for (size_t number = 0; number < count; number++) {
        idle[number] = fork();
        need(idle[number] >= 0, "fork");
        if (idle[number] == 0)
            sleep_for_ever(NULL);
    }
    uint64_t after = free_memory();
    for (size_t number = 0; number < count; number++)
        kill(idle[number], SIGKILL);
    return (before - after) / count;
}

static uint64_t memory_thread(void)
{
    pthread_join(start_thread(nothing), NULL);
    uint64_t before = free_memory();
    prepare_threads();
    return (before - free_memory()) / count;
}

/* Longest that a neighbour's stat takes while N MiB are mapped and unmapped. */
static uint64_t stat_meanwhile(void)
{
    pid_t child = fork();
    need(child >= 0, "fork");
    if (child == 0) {
        for (;;) {
            map_unmap();
            usleep(500);
        }
    }
    uint64_t longest = 0;
    struct stat status;
    for (int turn = 0; turn < 50; turn++) {
        uint64_t begun = __rdtsc();
        need(stat("/dev/null", &status) == 0, "stat");
        uint64_t took = __rdtsc() - begun;
        longest = took > longest ? took : longest;
        usleep(2000);
    }
    kill(child, SIGKILL);
    return longest;
}

static const struct operation {
    const char *name;
    void (*prepare)(void);
    void (*run)(void);
    uint64_t (*figure)(void);
} operations[] = {
    {"map_unmap", NULL, map_unmap, NULL},
    {"touch", prepare_touch, touch, NULL},
    {"fork_mappings", prepare_mappings, fork_and_wait, NULL},
    {"map_fixed", prepare_mappings, map_fixed, NULL},
    {"fork_threads", prepare_threads, fork_and_wait, NULL},
    {"fork_processes", prepare_processes, fork_and_wait, NULL},
    {"threads", NULL, threads, NULL},
    {"requests", NULL, NULL, requests},
    {"fork_descriptors", prepare_descriptors, fork_and_wait, NULL},
    {"fork_files", prepare_files, fork_and_wait, NULL},
    {"epoll_idle", prepare_pipes, wait_in_set, NULL},
    {"epoll_edges", prepare_edges, wait_in_set, NULL},
    {"epoll_look", prepare_idle, look_at_set, NULL},
    {"epoll_change", prepare_pipes, change_set, NULL},
    {"poll_idle", prepare_pipes, wait_in_poll, NULL},
    {"select_idle", prepare_select, wait_in_select, NULL},
    {"pipes", NULL, use_pipes, NULL},
    {"list", prepare_closed_files, list, NULL},
    {"open_deep", prepare_deep, open_deep, NULL},
    {"open_guarded", prepare_deep, open_deep, NULL},
    {"locks", prepare_locks, lock_one_more, NULL},
    {"wake", prepare_sleepers, wake, NULL},
    {"memory_process", NULL, NULL, memory_process},
    {"memory_thread", NULL, NULL, memory_thread},
    {"stat_meanwhile", NULL, NULL, stat_meanwhile},
};

static int compare(const void *one, const void *other)
{
    return (*(const uint64_t *)one > *(const uint64_t *)other) - (*(const uint64_t *)one < *(const uint64_t *)other);
}

static void measure(const struct operation *operation)
{
    uint64_t times[BATCHES];
    if (operation->figure)
        tell(operation->figure());
    if (operation->prepare)
        operation->prepare();
    for (int number = 0; number < BATCHES; number++) {
        uint64_t begun = __rdtsc();
        operation->run();
        times[number] = __rdtsc() - begun;
    }
    qsort(times, BATCHES, sizeof *times, compare);
    tell(times[BATCHES / 2]);
}

int main(int words, char **word)
{
    row = words > 1 ? word[1] : "";
    const char *colon = strchr(row, ':');
    need(colon != NULL, "the word has no number");
    count = strtoul(colon + 1, NULL, 10);
    for (unsigned index = 0; index < sizeof operations / sizeof *operations; index++)
        if (strncmp(row, operations[index].name, colon - row) == 0 && operations[index].name[colon - row] == 0)
            measure(&operations[index]);
    need(0, "there is no such row");
}
