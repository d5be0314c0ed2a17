/* call: fork; covers: calls that write into large memory that a child has from its parent; also: dynamic */
#include "check.h"
#include <linux/futex.h>

#define SIZE (4L << 20)

static char *memory;
static int pipes[2], sockets[2];

/* Another place of the memory each time, far from the last. */
static void *place(void)
{
    static long next;
    next += 150000;
    return memory + next % (SIZE - 100000) / 64 * 64;
}

static void handler(int number, siginfo_t *info, void *context)
{
    (void)context;
    char here = 0;
    say("%s, value %d, on the other stack: %d\n", signal_name(number), info->si_value.sival_int, &here > memory && &here < memory + SIZE);
}

static void calls(const char *who)
{
    struct stat *status = place();
    SHOW(stat("/", status));
    HOLDS(S_ISDIR(status->st_mode));
    struct timespec *time = place();
    SHOW(clock_gettime(CLOCK_MONOTONIC, time));
    HOLDS(time->tv_nsec > 0 || time->tv_sec > 0);
    char *bytes = place();
    SHOW(write(pipes[1], who, 6));
    SHOW(read(pipes[0], bytes, 100));
    say("%.6s\n", bytes);
    bytes = place();
    SHOW(write(sockets[1], memory + 8, 70000) > 4096);
    long got = 0;
    for (long more; got < 70000 && (more = recv(sockets[0], bytes + got, 70000 - got, MSG_DONTWAIT)) > 0;)
        got += more;
    HOLDS(got > 4096 && memcmp(bytes, memory + 8, 4096) == 0);
    struct pollfd *file = place();
    *file = (struct pollfd){ .fd = pipes[1], .events = POLLOUT };
    SHOW(poll(file, 1, 0));
    say("%x\n", file->revents);
    int *word = place();
    SHOW(syscall(SYS_futex, word, FUTEX_WAKE_OP, 1, 1, word, FUTEX_OP(FUTEX_OP_SET, 77, FUTEX_OP_CMP_EQ, 0)));
    say("%d\n", *word);
    sigset_t *set = place();
    sigemptyset(set);
    SHOW(sigprocmask(SIG_BLOCK, NULL, set));
    stack_t stack = { .ss_sp = place(), .ss_size = 65536 };
    SHOW(sigaltstack(&stack, NULL));
    handle_info(SIGUSR1, handler, SA_ONSTACK);
    SHOW(sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 5 }));
    struct iovec vectors[2] = { { place(), 3 }, { place(), 3 } };
    SHOW(write(pipes[1], "abcdef", 6));
    SHOW(readv(pipes[0], vectors, 2));
    say("%.3s %.3s\n", (char *)vectors[0].iov_base, (char *)vectors[1].iov_base);
    int file_number = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
    SHOW(write(file_number, memory, 100000));
    bytes = place();
    SHOW(pread(file_number, bytes, 90000, 10));
    SHOW(memcmp(bytes, memory + 10, 50) == 0);
    close(file_number);
}

static void in_the_child(void)
{
    calls("child");
    int status;
    struct rusage *usage = place();
    pid_t child = fork();
    if (child == 0)
        calls("grand"), _exit(3);
    SHOW(wait4(child, &status, 0, usage) == child);
    show_status(status);
    SHOW(munmap(memory + SIZE / 2, 4096));
    SHOW(read(pipes[0], memory + SIZE / 2 - 2, 6));
}

int main(void)
{
    memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long at = 0; at < SIZE; at += 8)
        *(long *)(memory + at) = at % 4096 == 0 ? 0 : at * 7;
    SHOW(pipe2(pipes, O_NONBLOCK));
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
    in_child(in_the_child);
    long wrong = 0;
    for (long at = 0; at < SIZE; at += 8)
        wrong += *(long *)(memory + at) != (at % 4096 == 0 ? 0 : at * 7);
    say("%ld wrong\n", wrong);
    calls("parent");
    return 0;
}
