/* call: mq_notify; covers: signals with values, nothing, threads, one process at a time, who waits to receive, closing, ending; also: musl */
#include "check.h"

#include <mqueue.h>

static mqd_t queue;

static void on_message(int number, siginfo_t *info, void *context)
{
    (void)context;
    say("%s code %d value %d, from %s, user %d\n", signal_name(number), info->si_code, info->si_value.sival_int,
        info->si_pid == getpid() ? "itself" : info->si_pid == getppid() ? "its parent" : info->si_pid > 0 ? "another" : "nobody", info->si_uid);
}

static int expect(mqd_t which, int how, int number, int value)
{
    struct sigevent event = {.sigev_notify = how, .sigev_signo = number, .sigev_value.sival_int = value};
    return mq_notify(which, &event);
}

static void empty(void)
{
    struct mq_attr attributes;
    char text[16];
    for (mq_getattr(queue, &attributes); attributes.mq_curmsgs > 0; attributes.mq_curmsgs--)
        mq_receive(queue, text, 16, NULL);
}

static void show_state(void)
{
    char text[200] = "";
    ssize_t length = pread(queue, text, sizeof text - 1, 0);
    char *pid = strstr(text, "NOTIFY_PID:");
    int number = pid ? atoi(pid + 11) : -1;
    if (pid)
        *pid = 0;
    say("%zd %s%s\n", length, text, number == 0 ? "nobody" : number == getpid() ? "own" : "other");
}

static void try_busy(void)
{
    SHOW(expect(queue, SIGEV_NONE, 0, 0));
    SHOW(mq_notify(queue, NULL));
    SHOW(expect(queue, SIGEV_SIGNAL, SIGUSR1, 0));
    show_state();
}

static void send_it(void)
{
    setresuid(1000, 1000, 1000);
    _exit(mq_send(queue, "child", 5, 0));
}

static void register_and_end(void)
{
    SHOW(expect(queue, SIGEV_SIGNAL, SIGUSR1, 9));
}

static void receive_it(void)
{
    char text[16];
    ssize_t length = mq_receive(queue, text, 16, NULL);
    say("%.*s\n", (int)length, text);
}

static void by_signal(void)
{
    handle_info(SIGUSR1, on_message, SA_RESTART);
    handle_info(SIGRTMIN + 3, on_message, SA_RESTART);
    show_state();
    SHOW(expect(queue, SIGEV_SIGNAL, SIGUSR1, 17));
    show_state();
    in_child(try_busy);
    SHOW(expect(queue, SIGEV_NONE, 0, 0));
    SHOW(mq_send(queue, "first", 5, 0));
    show_state();
    SHOW(mq_send(queue, "second", 6, 0));
    SHOW(expect(queue, SIGEV_SIGNAL, SIGRTMIN + 3, 18));
    SHOW(mq_send(queue, "third", 5, 0));
    say("it was not empty\n");
    empty();
    in_child(send_it);
    empty();
    SHOW(expect(queue, SIGEV_SIGNAL, SIGUSR1, 19));
    pid_t child = make_child(receive_it);
    nap(50);
    int sent = mq_send(queue, "waited for", 10, 0);
    wait_for(child);
    SHOW(sent);
    say("still expected\n");
    SHOW(mq_send(queue, "now", 3, 0));
    empty();
}

static void taken_back(void)
{
    SHOW(expect(queue, SIGEV_SIGNAL, SIGUSR1, 20));
    SHOW(mq_notify(queue, NULL));
    SHOW(mq_notify(queue, NULL));
    SHOW(mq_send(queue, "quiet", 5, 0));
    empty();
    SHOW(expect(queue, SIGEV_SIGNAL, SIGUSR1, 21));
    /* Closing any descriptor of the queue ends it. */
    close(dup(queue));
    show_state();
    SHOW(mq_send(queue, "quiet", 5, 0));
    empty();
    SHOW(expect(queue, SIGEV_SIGNAL, SIGUSR1, 22));
    mqd_t second = mq_open("/nacre-notify", O_RDONLY);
    SHOW(mq_close(second));
    show_state();
    in_child(register_and_end);
    show_state();
    SHOW(expect(queue, SIGEV_NONE, 0, 0));
    show_state();
    SHOW(mq_send(queue, "none", 4, 0));
    show_state();
    empty();
    SHOW(expect(queue, SIGEV_SIGNAL, 0, 0));
    SHOW(mq_send(queue, "zero", 4, 0));
    empty();
}

static void errors(void)
{
    SHOW(expect(queue, SIGEV_SIGNAL, 65, 0));
    SHOW(expect(queue, SIGEV_SIGNAL, -1, 0));
    SHOW(syscall(SYS_mq_notify, queue, (struct sigevent[]){{.sigev_notify = 7}}));
    SHOW(syscall(SYS_mq_notify, queue, (void *)8));
    SHOW(expect(0, SIGEV_SIGNAL, SIGUSR1, 0));
    SHOW(expect(-1, SIGEV_NONE, 0, 0));
    SHOW(mq_notify(99, NULL));
}

static void by_cookie(void)
{
    unsigned char cookie[32], got[64];
    for (int at = 0; at < 32; at++)
        cookie[at] = 100 + at;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_value.sival_ptr = cookie};
    int ends[2], other = socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
    HOLDS(fd != -1 && other == 0);
    event.sigev_signo = ends[0];
    SHOW(syscall(SYS_mq_notify, queue, &event));
    event.sigev_signo = queue;
    SHOW(syscall(SYS_mq_notify, queue, &event));
    event.sigev_signo = 99;
    SHOW(syscall(SYS_mq_notify, queue, &event));
    event.sigev_signo = fd;
    SHOW(syscall(SYS_mq_notify, queue, &event));
    show_state();
    SHOW(recv(fd, got, 64, MSG_DONTWAIT));
    SHOW(mq_send(queue, "c", 1, 0));
    SHOW(recv(fd, got, 64, 0));
    say("%d %d %d\n", got[0], got[30], got[31]);
    empty();
    SHOW(syscall(SYS_mq_notify, queue, &event));
    SHOW(mq_notify(queue, NULL));
    SHOW(recv(fd, got, 64, 0));
    say("%d %d %d\n", got[0], got[30], got[31]);
    SHOW(socket(AF_NETLINK, SOCK_STREAM, 0));
    SHOW(socket(AF_NETLINK, SOCK_RAW, 31));
}

static volatile int called;

static void in_thread(union sigval value)
{
    char text[16];
    ssize_t length = mq_receive(queue, text, 16, NULL);
    note("thread: %d %.*s\n", value.sival_int, (int)length, text);
    called++;
}

static void by_thread(void)
{
    for (int count = 1; count <= 3; count++) {
        struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = in_thread, .sigev_value.sival_int = 40 + count};
        SHOW(mq_notify(queue, &event));
        SHOW(mq_send(queue, "call", 4, 0));
        while (called < count)
            nap(5);
        nap(20);
        say("%s", notes);
        notes[0] = 0;
    }
}

int main(void)
{
    struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 16};
    queue = mq_open("/nacre-notify", O_RDWR | O_CREAT, 0666, &attributes);
    by_signal();
    taken_back();
    errors();
    by_cookie();
    by_thread();
    SHOW(mq_unlink("/nacre-notify"));
    return 0;
}
