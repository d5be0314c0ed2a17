/* What system calls of a Linux program cost: `calls NAME` measures one operation and prints `measure NAME INSTRUCTIONS CALLS`, or `unmeasured NAME WHY`;
   of an idle process, how many bytes of memory it takes.
   The same file runs on Linux and on Nacre; time is the time-stamp counter, which under QEMU's instruction count advances by one with every instruction. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

enum { BATCHES = 5, PAGE = 4096, PAGES = 64, IDLE = 8, LARGE = 16 << 20 };

/* Ends the measurement of an operation that does not work. */
static void give_up(const char *why)
{
    printf("unmeasured %s: %s\n", why, strerror(errno));
    fflush(stdout);
    _exit(1);
}

static void need(int holds, const char *what)
{
    if (!holds)
        give_up(what);
}

static int null, there[2], back[2];
static pid_t partner;
static volatile int handled;
static volatile int *turn;
static char *pages;

static void parents_number(void)
{
    syscall(SYS_getppid);
}

static void open_null(void)
{
    null = open("/dev/null", O_WRONLY);
    need(null >= 0, "/dev/null");
}

static void write_null(void)
{
    need(write(null, "x", 1) == 1, "write");
}

static void handler(int number)
{
    handled++;
}

static void install_handler(void)
{
    signal(SIGUSR1, handler);
}

static void signal_self(void)
{
    need(kill(getpid(), SIGUSR1) == 0, "kill");
}

/* A partner that gives back each byte. */
static void start_echo(int in, int out)
{
    char byte;
    partner = fork();
    need(partner >= 0, "fork");
    if (partner == 0)
        for (;;)
            if (read(in, &byte, 1) != 1 || write(out, &byte, 1) != 1)
                _exit(0);
}

static void start_pipes(void)
{
    need(pipe(there) == 0 && pipe(back) == 0, "pipe");
    start_echo(there[0], back[1]);
}

static void start_sockets(void)
{
    int pair[2];
    need(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
    start_echo(pair[1], pair[1]);
    there[1] = back[0] = pair[0];
}

static void byte_round_trip(void)
{
    char byte = 0;
    need(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1, "a byte there and back");
}

static void hand_over(int to)
{
    __atomic_store_n(turn, to, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void await_turn(int own)
{
    while (__atomic_load_n(turn, __ATOMIC_SEQ_CST) != own)
        syscall(SYS_futex, turn, FUTEX_WAIT, !own, NULL, NULL, 0);
}

static void *take_turns(void *argument)
{
    for (;;) {
        await_turn(1);
        hand_over(0);
    }
    return NULL;
}

static void start_threads_turns(void)
{
    static int word;
    pthread_t thread;
    turn = &word;
    need(pthread_create(&thread, NULL, take_turns, NULL) == 0, "pthread_create");
}

static void start_process_turns(void)
{
    turn = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(turn != MAP_FAILED, "mmap");
    partner = fork();
    need(partner >= 0, "fork");
    if (partner == 0)
        take_turns(NULL);
}

static void turn_round_trip(void)
{
    hand_over(1);
    await_turn(0);
}

static void *nothing(void *argument)
{
    return NULL;
}

static void thread_and_join(void)
{
    pthread_t thread;
    need(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0, "pthread_create");
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

/* Each process of the chain forks the next one, and waits for it. */
static void fork_chain(void)
{
    enum { LENGTH = 5 };
    pid_t first = getpid();
    for (int made = 0; made < LENGTH; made++) {
        pid_t child = fork();
        if (child != 0) {
            await(child);
            break;
        }
    }
    if (getpid() != first)
        _exit(0);
}

/* Memory that the process has written, for its children. */
static void fill_memory(void)
{
    pages = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(pages != MAP_FAILED, "mmap");
    madvise(pages, LARGE, MADV_NOHUGEPAGE);
    memset(pages, 1, LARGE);
}

/* Parent and child both write to some of it. */
static void fork_large_and_wait(void)
{
    pid_t child = fork();
    for (size_t at = child == 0 ? 0 : LARGE / 8; at < LARGE; at += LARGE / 4)
        *(volatile char *)(pages + at) = 2;
    if (child == 0)
        _exit(0);
    await(child);
}

static void run(char **words)
{
    pid_t child = fork();
    if (child == 0) {
        execv(words[0], words);
        _exit(1);
    }
    await(child);
}

static void run_static(void)
{
    run((char *[]){"/bench/true-static", NULL});
}

static void run_dynamic(void)
{
    run((char *[]){"/bench/true-dynamic", NULL});
}

static void run_shell(void)
{
    run((char *[]){"/bin/sh", "-c", "true", NULL});
}

static void map_and_unmap(void)
{
    char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(page != MAP_FAILED && munmap(page, PAGE) == 0, "mmap");
}

static void map_pages(void)
{
    pages = mmap(NULL, PAGES * PAGE * (BATCHES + 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(pages != MAP_FAILED, "mmap");
    madvise(pages, PAGES * PAGE * (BATCHES + 1), MADV_NOHUGEPAGE);
}

static void touch_page(void)
{
    *(volatile char *)pages = 1;
    pages += PAGE;
}

/* The primitives of Appel and Li: pages that have been touched, of which each operation takes the next ones. */
enum { MANY = 100, SOME = 5, RANGES = MANY * SOME * (BATCHES + 1) };
static char *begin, *last;
static volatile uint64_t trapped;

static void protect(char *start, size_t count, int rights)
{
    need(mprotect(start, count * PAGE, rights) == 0, "mprotect");
}

static void touched_pages(void)
{
    begin = pages = mmap(NULL, RANGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(pages != MAP_FAILED, "mmap");
    madvise(pages, RANGES * PAGE, MADV_NOHUGEPAGE);
    memset(pages, 1, RANGES * PAGE);
}

static void protected_pages(void)
{
    touched_pages();
    protect(pages, RANGES, PROT_READ);
}

static void protect_page(void)
{
    protect(pages, 1, PROT_READ);
    pages += PAGE;
}

static void protect_range(void)
{
    protect(pages, MANY, PROT_READ);
    pages += MANY * PAGE;
}

static void unprotect_range(void)
{
    protect(pages, MANY, PROT_READ | PROT_WRITE);
    pages += MANY * PAGE;
}

static void enable_page(int number, siginfo_t *info, void *context)
{
    trapped = __rdtsc();
    protect((char *)((uintptr_t)info->si_addr & -PAGE), 1, PROT_READ | PROT_WRITE);
    if (last)
        protect(last, 1, PROT_READ);
}

static void enable_at_fault(void)
{
    struct sigaction action = {.sa_sigaction = enable_page, .sa_flags = SA_SIGINFO};
    need(sigaction(SIGSEGV, &action, NULL) == 0, "sigaction");
}

static void faulting_pages(void)
{
    protected_pages();
    enable_at_fault();
}

/* The handler protects the page before. */
static void fault_and_protect(void)
{
    last = pages == begin ? NULL : pages - PAGE;
    touch_page();
}

static void enabled_pages(void)
{
    touched_pages();
    enable_at_fault();
}

/* A page of a hundred that are protected at once. */
static void protect_and_fault(void)
{
    if ((pages - begin) % (MANY * PAGE) == 0)
        protect(pages, MANY, PROT_READ);
    touch_page();
}

/* An operation, what it needs first, how often it is repeated in a batch, and how many system calls it makes on all sides. */
static const struct operation {
    const char *name;
    void (*prepare)(void);
    void (*run)(void);
    int rounds, calls;
} operations[] = {
    {"getppid", NULL, parents_number, 1000, 1},
    {"write_null", open_null, write_null, 1000, 1},
    {"signal_self", install_handler, signal_self, 200, 3},
    {"pipe_round_trip", start_pipes, byte_round_trip, 100, 4},
    {"futex_threads", start_threads_turns, turn_round_trip, 100, 4},
    {"futex_processes", start_process_turns, turn_round_trip, 100, 4},
    {"unix_round_trip", start_sockets, byte_round_trip, 100, 4},
    {"thread_join", NULL, thread_and_join, 50, 4},
    {"fork_wait", NULL, fork_and_wait, 20, 3},
    {"fork_large", fill_memory, fork_large_and_wait, 5, 3},
    {"fork_chain", NULL, fork_chain, 5, 15},
    {"exec_static", NULL, run_static, 10, 4},
    {"exec_dynamic", NULL, run_dynamic, 10, 4},
    {"shell_true", NULL, run_shell, 10, 4},
    /* So often that most of the memory has been used before: what nobody has used need not be cleared. */
    {"map_unmap", NULL, map_and_unmap, 2000, 2},
    {"page_touched", map_pages, touch_page, PAGES, 0},
    {"prot1", touched_pages, protect_page, MANY, 1},
    {"prot100", touched_pages, protect_range, SOME, 1},
    {"unprot100", protected_pages, unprotect_range, SOME, 1},
    {"fault", faulting_pages, touch_page, MANY, 2},
    {"appel1", faulting_pages, fault_and_protect, MANY, 3},
    {"appel2", enabled_pages, protect_and_fault, MANY, 2},
};

static void none(void)
{
}

static uint64_t batch(void (*run)(void), int rounds)
{
    uint64_t begun = __rdtsc();
    for (int round = 0; round < rounds; round++)
        run();
    return __rdtsc() - begun;
}

static int compare(const void *one, const void *other)
{
    return (*(const uint64_t *)one > *(const uint64_t *)other) - (*(const uint64_t *)one < *(const uint64_t *)other);
}

static void measure(const struct operation *operation)
{
    uint64_t times[BATCHES];
    if (operation->prepare)
        operation->prepare();
    /* The first batch fills what is filled lazily. */
    batch(operation->run, operation->rounds);
    for (int number = 0; number < BATCHES; number++)
        times[number] = batch(operation->run, operation->rounds);
    qsort(times, BATCHES, sizeof *times, compare);
    uint64_t time = times[BATCHES / 2] - batch(none, operation->rounds);
    printf("measure %s %lu %d\n", operation->name, (time + operation->rounds / 2) / operation->rounds, operation->calls);
    fflush(stdout);
    if (partner > 0)
        kill(partner, SIGKILL);
}

static uint64_t free_memory(void)
{
    struct sysinfo info;
    usleep(500000);
    need(sysinfo(&info) == 0, "sysinfo");
    return (uint64_t)info.freeram * info.mem_unit;
}

/* The memory that a process takes which does nothing, in bytes, with what its program has touched. */
static void measure_idle(void)
{
    pid_t idle[IDLE];
    /* The first run fills what is filled lazily. */
    run_static();
    uint64_t before = free_memory();
    for (int number = 0; number < IDLE; number++) {
        idle[number] = fork();
        if (idle[number] == 0) {
            execl("/bench/true-static", "/bench/true-static", "idle", NULL);
            _exit(1);
        }
        need(idle[number] > 0, "fork");
    }
    printf("measure idle_process %ld 0\n", (long)(before - free_memory()) / IDLE);
    fflush(stdout);
    for (int number = 0; number < IDLE; number++)
        kill(idle[number], SIGKILL);
}

/* From a fault to the first instruction of the handler. */
static void measure_trap(void)
{
    uint64_t time = 0;
    faulting_pages();
    for (int round = 0; round < MANY; round++) {
        uint64_t begun = __rdtsc();
        touch_page();
        /* The first half fills what is filled lazily. */
        if (round >= MANY / 2)
            time += trapped - begun;
    }
    printf("measure trap %lu 0\n", (unsigned long)(time / (MANY / 2)));
    fflush(stdout);
}

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "trap") == 0)
        measure_trap();
    if (count > 1 && strcmp(words[1], "idle_process") == 0)
        measure_idle();
    for (unsigned index = 0; index < sizeof operations / sizeof *operations; index++)
        if (count > 1 && strcmp(operations[index].name, words[1]) == 0)
            measure(&operations[index]);
    _exit(0);
}
