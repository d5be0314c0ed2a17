/* One process takes as much of everything as it gets, kind by kind, and another one works meanwhile
   with a little of everything. Says what did not go, and ends with 1 then. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 10000

static int failures;

static void must(long result, const char *kind, const char *what) {
    if (result < 0) {
        printf("%s: %s: %s\n", kind, what, strerror(errno));
        failures++;
    }
}
#define MUST(call) must((long)(call), kind, #call)

static void *sleeps(void *unused) {
    pause();
    return unused;
}

static void *ends(void *unused) {
    return unused;
}

static int take_one(const char *kind, int number) {
    static int queue = -1, watcher = -1, file = -1;
    char path[100];
    if (!strcmp(kind, "events")) return eventfd(0, 0);
    if (!strcmp(kind, "timers")) {
        int timer = timerfd_create(CLOCK_MONOTONIC, 0);
        struct itimerspec each = {{0, 50000000}, {0, 50000000}};
        return timerfd_settime(timer, 0, &each, 0);
    }
    if (!strcmp(kind, "polls")) {
        struct epoll_event event = {EPOLLIN, {0}};
        queue = epoll_create1(0);
        return queue < 0 ? -1 : epoll_ctl(queue, EPOLL_CTL_ADD, 0, &event);
    }
    if (!strcmp(kind, "watchers")) {
        watcher = inotify_init();
        return watcher < 0 ? -1 : inotify_add_watch(watcher, "/tmp", IN_ALL_EVENTS);
    }
    if (!strcmp(kind, "locks")) {
        if (file < 0) file = open("/tmp/many-locked", O_RDWR | O_CREAT, 0600);
        struct flock lock = {F_WRLCK, SEEK_SET, 4 * number, 1};
        return fcntl(file, F_SETLK, &lock);
    }
    if (!strcmp(kind, "files")) {
        snprintf(path, sizeof path, "/tmp/many-%d", number % 50);
        return open(path, O_RDWR | O_CREAT, 0600);
    }
    if (!strcmp(kind, "programs")) {
        snprintf(path, sizeof path, "/tmp/many-program-%d", number % 100);
        int program = open(path, O_RDWR | O_CREAT, 0700);
        if (program < 0 || ftruncate(program, 1 << 20) < 0) return -1;
        char *mapped = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, program, 4096 * (number / 100));
        close(program);
        return mapped == MAP_FAILED ? -1 : 0;
    }
    if (!strcmp(kind, "threads")) {
        pthread_t thread;
        pthread_attr_t small;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, 1 << 16);
        return pthread_create(&thread, &small, sleeps, NULL) ? -1 : 0;
    }
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    return child;
}

static void work(const char *kind) {
    int ends_of_pipe[2], file, child, status;
    struct epoll_event event = {EPOLLIN, {0}};
    struct itimerspec soon = {{0, 0}, {0, 1000000}};
    struct flock lock = {F_WRLCK, SEEK_SET, 0, 1};
    unsigned long count;
    pthread_t thread;
    MUST(file = eventfd(1, 0));
    MUST(read(file, &count, 8));
    close(file);
    MUST(file = timerfd_create(CLOCK_MONOTONIC, 0));
    MUST(timerfd_settime(file, 0, &soon, 0));
    MUST(read(file, &count, 8));
    close(file);
    MUST(file = inotify_init());
    MUST(inotify_add_watch(file, "/etc", IN_CREATE));
    close(file);
    MUST(pipe(ends_of_pipe));
    MUST(file = epoll_create1(0));
    MUST(epoll_ctl(file, EPOLL_CTL_ADD, ends_of_pipe[0], &event));
    MUST(write(ends_of_pipe[1], "x", 1));
    MUST(epoll_wait(file, &event, 1, 1000) == 1 ? 0 : -1);
    close(file), close(ends_of_pipe[0]), close(ends_of_pipe[1]);
    MUST(file = open("/tmp/many-worked", O_RDWR | O_CREAT, 0600));
    MUST(fcntl(file, F_SETLK, &lock));
    MUST(write(file, "x", 1));
    char *mapped = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    MUST(mapped == MAP_FAILED ? -1 : 0);
    if (mapped != MAP_FAILED) *mapped = 2, munmap(mapped, 4096);
    close(file);
    mapped = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    MUST(mapped == MAP_FAILED ? -1 : 0);
    if (mapped != MAP_FAILED) memset(mapped, 1, 1 << 20), munmap(mapped, 1 << 20);
    errno = pthread_create(&thread, NULL, ends, NULL);
    MUST(errno ? -1 : 0);
    if (!errno) pthread_join(thread, NULL);
    MUST(child = fork());
    if (child == 0) execl("/proc/self/exe", "many", NULL), _exit(9);
    if (child < 0) return;
    MUST(waitpid(child, &status, 0));
    MUST(status == 0 ? 0 : (errno = status, -1));
}

static void attack(const char *kind) {
    int ready[2], count;
    struct rlimit files = {MANY, MANY};
    MUST(pipe(ready));
    pid_t greedy = fork();
    if (greedy < 0) {
        must(-1, kind, "a fork before anybody is greedy");
        close(ready[0]), close(ready[1]);
        return;
    }
    if (greedy == 0) {
        setpgid(0, 0);
        setrlimit(RLIMIT_NOFILE, &files);
        dup2(ready[1], 3);
        execl("/proc/self/exe", "many", "take", kind, NULL);
        _exit(9);
    }
    close(ready[1]);
    if (read(ready[0], &count, sizeof count) != sizeof count) must(-1, kind, "the greedy process");
    close(ready[0]);
    work(kind);
    kill(-greedy, SIGKILL), kill(greedy, SIGKILL);
    waitpid(greedy, NULL, 0);
}

/* Takes all of a kind, and says through descriptor 3 how much that was. */
static void take(const char *kind) {
    int count = 0;
    while (count < MANY && take_one(kind, count) >= 0) count++;
    write(3, &count, sizeof count);
    while (1) pause();
}

static long free_memory(void) {
    struct sysinfo now;
    return sysinfo(&now) ? 0 : (long)(now.freeram * now.mem_unit);
}

/* Waits until there is nearly as much memory as before; in vain if somebody keeps what the greedy
   one had. */
static void wait_for(long before, const char *kind) {
    struct sysinfo now;
    sysinfo(&now);
    long least = before - (long)(now.totalram * now.mem_unit / 8);
    for (int try = 0; free_memory() < least && try < 500; try++) usleep(20000);
    if (free_memory() < least) {
        printf("%s: %ld KiB were free, and %ld are\n", kind, before >> 10, free_memory() >> 10);
        failures++;
    }
}

int main(int count, char **words) {
    if (count == 3 && !strcmp(words[1], "take")) take(words[2]);
    for (int word = 1; word < count; word++) {
        long before = free_memory();
        attack(words[word]);
        wait_for(before, words[word]);
    }
    return failures != 0;
}
