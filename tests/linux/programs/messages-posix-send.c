/* call: mq_timedsend, mq_timedreceive; covers: order by priorities, sizes, access, waiting and not, limits of time, signals that cut off, large messages; also: musl */
#include "check.h"

#include <mqueue.h>

static mqd_t queue;

static mqd_t make(const char *name, int flags, long messages, long size)
{
    struct mq_attr attributes = {.mq_maxmsg = messages, .mq_msgsize = size};
    mqd_t made = mq_open(name, O_CREAT | flags, 0600, &attributes);
    if (made == -1)
        say("mq_open: %s\n", error_name(errno));
    mq_unlink(name);
    return made;
}

static void show_next(mqd_t from, size_t size)
{
    char text[8192];
    unsigned priority = 77;
    ssize_t length = mq_receive(from, text, size, &priority);
    if (length == -1)
        say("-1 %s\n", error_name(errno));
    else
        say("\"%.*s\" %u\n", (int)length, text, priority);
}

static struct timespec after(int milliseconds)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    long sum = time.tv_nsec + milliseconds % 1000 * 1000000L;
    return (struct timespec){time.tv_sec + milliseconds / 1000 + sum / 1000000000, sum % 1000000000};
}

static void order(void)
{
    static const unsigned priorities[] = {0, 5, 32767, 5, 1, 0};
    char text[2] = "a";
    mqd_t own = make("/order", O_RDWR | O_NONBLOCK, 6, 20);
    for (unsigned at = 0; at < 6; at++, text[0]++)
        SHOW(mq_send(own, text, 1, priorities[at]));
    SHOW(mq_send(own, "x", 1, 0));
    SHOW(mq_send(own, "x", 1, 32768));
    SHOW(mq_send(own, "x", 1, -1));
    for (int count = 0; count < 7; count++)
        show_next(own, 20);
    SHOW(mq_send(own, "", 0, 3));
    show_next(own, 20);
    SHOW(mq_send(own, "123456789012345678901", 21, 0));
    SHOW(mq_send(own, "12345678901234567890", 20, 0));
    SHOW(mq_receive(own, text, 19, NULL));
    show_next(own, 100);
    SHOW(syscall(SYS_mq_timedsend, own, (void *)8, 4, 0, NULL));
    SHOW(syscall(SYS_mq_timedsend, own, (void *)8, 21, 0, NULL));
    SHOW(syscall(SYS_mq_timedsend, own, (void *)8, 1UL << 40, 0, NULL));
    SHOW(mq_send(own, "lost", 4, 0));
    SHOW(syscall(SYS_mq_timedreceive, own, (void *)8, 20, NULL, NULL));
    show_next(own, 20);
    close(own);
}

static void access_modes(void)
{
    mqd_t reader = mq_open("/access", O_RDONLY | O_CREAT, 0600, NULL), writer = mq_open("/access", O_WRONLY);
    char text[8192];
    SHOW(mq_send(reader, "x", 1, 0));
    SHOW(mq_send(writer, "x", 1, 0));
    SHOW(mq_receive(writer, text, sizeof text, NULL));
    SHOW(mq_receive(reader, text, sizeof text, NULL));
    SHOW(mq_send(0, "x", 1, 0));
    SHOW(mq_send(99, "x", 1, 0));
    SHOW(mq_send(99, "x", 1, 32768));
    SHOW(mq_receive(0, text, sizeof text, NULL));
    SHOW(mq_receive(-1, text, sizeof text, NULL));
    mq_unlink("/access");
    close(reader), close(writer);
}

static void limited(void)
{
    mqd_t own = make("/limited", O_RDWR, 1, 8);
    char text[8];
    struct timespec wrong[] = {{0, 1000000000}, {0, -1}, {-1, 0}}, past = {1, 0};
    for (int at = 0; at < 3; at++) {
        SHOW(syscall(SYS_mq_timedreceive, own, text, 8, NULL, &wrong[at]));
        SHOW(syscall(SYS_mq_timedsend, own, "x", 1, 0, &wrong[at]));
    }
    SHOW(syscall(SYS_mq_timedsend, 99, "x", 1, 0, &wrong[0]));
    SHOW(syscall(SYS_mq_timedsend, own, "x", 1, 0, (void *)8));
    SHOW(mq_timedreceive(own, text, 8, NULL, &past));
    long start = now();
    struct timespec until = after(50);
    SHOW(mq_timedreceive(own, text, 8, NULL, &until));
    HOLDS(now() - start >= 49);
    SHOW(mq_timedsend(own, "x", 1, 0, &past));
    SHOW(mq_timedsend(own, "y", 1, 0, &past));
    start = now(), until = after(50);
    SHOW(mq_timedsend(own, "y", 1, 0, &until));
    HOLDS(now() - start >= 49);
    SHOW(mq_timedreceive(own, text, 8, NULL, &past));
    struct mq_attr attributes = {.mq_flags = O_NONBLOCK};
    SHOW(mq_setattr(own, &attributes, NULL));
    SHOW(mq_timedreceive(own, text, 8, NULL, &past));
    close(own);
}

static void on_signal(int number)
{
    say("%s\n", signal_name(number));
}

static void receive_from(void)
{
    char text[8];
    ssize_t length = mq_receive(queue, text, 8, NULL);
    say("%.*s\n", (int)length, text);
}

static void cut_off(void)
{
    char text[8];
    struct itimerval soon = {.it_value = {0, 20000}};
    queue = make("/cut", O_RDWR, 1, 8);
    handle(SIGALRM, on_signal, 0);
    setitimer(ITIMER_REAL, &soon, NULL);
    SHOW(mq_receive(queue, text, 8, NULL));
    SHOW(mq_send(queue, "first", 5, 0));
    setitimer(ITIMER_REAL, &soon, NULL);
    SHOW(mq_send(queue, "second", 6, 0));
    show_next(queue, 8);
    handle(SIGALRM, on_signal, SA_RESTART);
    setitimer(ITIMER_REAL, &soon, NULL);
    struct timespec until = after(80);
    SHOW(mq_timedreceive(queue, text, 8, NULL, &until));
    setitimer(ITIMER_REAL, &soon, NULL);
    pid_t child = fork();
    if (child == 0) {
        nap(60);
        _exit(mq_send(queue, "late", 4, 0));
    }
    show_next(queue, 8);
    wait_for(child);
    SHOW(mq_send(queue, "one", 3, 0));
    child = make_child(receive_from);
    int sent = mq_send(queue, "two", 3, 0);
    wait_for(child);
    SHOW(sent);
    show_next(queue, 8);
}

static void shared_flags(void)
{
    struct mq_attr attributes = {.mq_flags = O_NONBLOCK};
    int second = dup(queue);
    pid_t child = fork();
    if (child == 0) {
        mq_setattr(second, &attributes, NULL);
        _exit(0);
    }
    wait_for(child);
    show_next(queue, 8);
    attributes.mq_flags = 0;
    mq_setattr(queue, &attributes, NULL);
    mq_getattr(second, &attributes);
    say("%ld\n", attributes.mq_flags);
    close(second);
}

static void large(void)
{
    static char sent[100000], got[100000];
    mqd_t own = make("/large", O_RDWR, 3, sizeof sent);
    for (unsigned at = 0; at < sizeof sent; at++)
        sent[at] = at * 7 + at / 251;
    for (size_t size = 16383; size < sizeof sent; size = size < 16385 ? size + 1 : size * 3) {
        unsigned priority;
        memset(got, 0, sizeof got);
        say("%zu: %d", size, mq_send(own, sent, size, 1));
        ssize_t length = mq_receive(own, got, sizeof got, &priority);
        say(" %zd %s\n", length, memcmp(sent, got, size) == 0 && got[size] == 0 ? "same" : "OTHER");
    }
    SHOW(mq_send(own, sent, sizeof sent, 0));
    pid_t child = fork();
    if (child == 0) {
        int same = 0;
        for (int count = 0; count < 2; count++)
            same += mq_receive(own, got, sizeof got, NULL) == sizeof got && memcmp(sent, got, sizeof got) == 0;
        _exit(same);
    }
    nap(50);
    SHOW(mq_send(own, sent, sizeof sent, 0));
    wait_for(child);
}

int main(void)
{
    order();
    access_modes();
    limited();
    cut_off();
    shared_flags();
    large();
    return 0;
}
