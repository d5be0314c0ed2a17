/* call: epoll_ctl, epoll_wait, fork, execve, timerfd_create, signalfd4; covers: sets, timers and signals as files that a child or a new program has */
#include "check.h"

static int set, inner, first[2], second[2], third[2], timer, signals;

static void look(const char *who)
{
    struct epoll_event found[8];
    int count = epoll_wait(set, found, 8, 0);
    uint64_t all = 0;
    for (int number = 0; number < count; number++)
        all |= found[number].data.u64;
    say("%s: %d found, %lx\n", who, count, (long)all);
}

static void change(int operation, int into, int file, uint32_t events, uint64_t data)
{
    struct epoll_event event = {events, {.u64 = data}};
    SHOW(epoll_ctl(into, operation, file, &event));
}

static void take(int file)
{
    char byte;
    SHOW(read(file, &byte, 1));
}

/* The parent that made all this is gone, or sleeps. */
static void go_on(void)
{
    look("told before");
    write(first[1], "x", 1);
    look("level");
    look("level");
    take(first[0]);
    write(second[1], "x", 1);
    look("edge");
    look("edge");
    write(third[1], "x", 1);
    look("a set in a set");
    take(third[0]);
    change(EPOLL_CTL_MOD, set, first[0], EPOLLIN | EPOLLONESHOT, 16);
    write(first[1], "x", 1);
    look("once");
    look("once");
    change(EPOLL_CTL_DEL, set, first[0], 0, 0);
    change(EPOLL_CTL_DEL, set, first[0], 0, 0);
    change(EPOLL_CTL_ADD, set, first[0], EPOLLIN, 32);
    look("again");
}

static void child(void)
{
    uint64_t count = 0;
    struct signalfd_siginfo info;
    go_on();
    SHOW(read(timer, &count, 8));
    say("%ld\n", (long)count);
    kill(getpid(), SIGUSR1);
    SHOW(read(signals, &info, sizeof info));
    say("signal %d\n", info.ssi_signo);
}

static void becomes(void)
{
    change(EPOLL_CTL_ADD, set, timer, EPOLLIN, 64);
    fcntl(second[0], F_SETFD, FD_CLOEXEC);
    again("again");
}

int main(int count, char **words)
{
    if (count > 1) {
        struct epoll_event found;
        /* In the order in which they were made. */
        set = 3, inner = 4, first[1] = 6, third[1] = 10;
        look("a new program");
        write(first[1], "x", 1);
        look("level");
        char byte;
        read(5, &byte, 1);
        SHOW(epoll_wait(set, &found, 1, 1000));
        say("%lx\n", (long)found.data.u64);
        return 0;
    }
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    set = epoll_create1(0), inner = epoll_create1(0);
    pipe(first), pipe(second), pipe(third);
    timer = timerfd_create(CLOCK_MONOTONIC, 0), signals = signalfd(-1, &mask, 0);
    change(EPOLL_CTL_ADD, set, first[0], EPOLLIN, 1);
    change(EPOLL_CTL_ADD, set, second[0], EPOLLIN | EPOLLET, 2);
    change(EPOLL_CTL_ADD, set, inner, EPOLLIN, 4);
    change(EPOLL_CTL_ADD, inner, third[0], EPOLLIN, 8);
    write(second[1], "x", 1);
    look("before");
    struct itimerspec soon = {.it_value = {.tv_nsec = 20000000}};
    SHOW(timerfd_settime(timer, 0, &soon, NULL));
    in_child(child);
    soon.it_value.tv_nsec = 50000000;
    SHOW(timerfd_settime(timer, 0, &soon, NULL));
    take(first[0]);
    change(EPOLL_CTL_DEL, set, first[0], 0, 0);
    change(EPOLL_CTL_ADD, set, first[0], EPOLLIN, 1);
    in_child(becomes);
    return 0;
}
