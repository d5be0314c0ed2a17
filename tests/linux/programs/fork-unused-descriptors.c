/* call: fork, close, close_range, dup2, execve; covers: descriptors that a child has and never uses: ends of pipes, two of one file, flags, children of its own */
#include "check.h"

static int ends[2], other, set;

/* What a read finds within a moment: a byte, the end, or nothing. */
static const char *found(void)
{
    char byte;
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    if (poll(&one, 1, 200) == 0)
        return "nothing";
    return read(ends[0], &byte, 1) == 1 ? "a byte" : "the end";
}

static pid_t start(void (*run)(void))
{
    pid_t child = fork();
    if (child == 0) {
        run();
        _exit(0);
    }
    return child;
}

static void sleep_long(void)
{
    for (;;)
        pause();
}

static void fork_and_end(void)
{
    start(sleep_long);
}

static void close_range_all(void)
{
    SHOW(close_range(3, ~0u, 0));
    sleep_long();
}

static void replace(void)
{
    SHOW(dup2(0, ends[1]) == ends[1]);
    sleep_long();
}

static void become_keeping(void)
{
    execl("/bin/busybox", "busybox", "sleep", "100", NULL);
}

static void become_closing(void)
{
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    become_keeping();
}

static void write_late(void)
{
    nap(300);
    write(ends[1], "x", 1);
}

/* A child has the only end to write to, but for what it does. */
static void last_writer(const char *name, void (*run)(void))
{
    pipe(ends);
    pid_t child = start(run);
    close(ends[1]);
    nap(300);
    say("%s: %s, ", name, found());
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    nap(100);
    say("%s\n", found());
    close(ends[0]);
}

static void use_twins(void)
{
    char text[8] = "";
    SHOW(close(other));
    SHOW(fcntl(other, F_GETFD));
    SHOW(read(ends[0], text, 2));
    SHOW(dup(0) == other);
    SHOW(fcntl(ends[0], F_GETFD));
    SHOW(fcntl(ends[0], F_SETFD, 0));
    SHOW(close(ends[0]));
    SHOW(read(ends[0], text, 2));
}

static void twins(void)
{
    char text[8] = "";
    put_file("f", "abcdef");
    ends[0] = open("f", O_RDONLY | O_CLOEXEC);
    other = dup(ends[0]);
    in_child(use_twins);
    read(other, text, 2);
    say("parent %s\n", text);
    close(other);
    close(ends[0]);
}

static void look_at_set(void)
{
    struct epoll_event event = {0};
    SHOW(epoll_wait(set, &event, 1, 1000));
    SHOW(event.data.fd == ends[0]);
    close(ends[0]);
    struct epoll_event again = {.events = EPOLLIN};
    SHOW(epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &again));
}

static void watched(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    pipe(ends);
    set = epoll_create1(0);
    event.data.fd = ends[0];
    SHOW(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
    write(ends[1], "x", 1);
    in_child(look_at_set);
}

int main(void)
{
    say("written: ");
    pipe(ends);
    pid_t writer = start(write_late);
    close(ends[1]);
    nap(500);
    say("%s, ", found());
    waitpid(writer, NULL, 0);
    say("%s\n", found());
    close(ends[0]);
    last_writer("killed", sleep_long);
    last_writer("all closed", close_range_all);
    last_writer("replaced", replace);
    last_writer("execve, kept", become_keeping);
    last_writer("execve, closed", become_closing);
    pipe(ends);
    wait_for(start(fork_and_end));
    close(ends[1]);
    say("grandchild: %s\n", found());
    close(ends[0]);
    twins();
    watched();
    return 0;
}
