/* call: mq_open, mq_unlink, mq_getsetattr; covers: names, modes, users, attributes and limits of queues, and their errors; also: musl */
#include "check.h"

#include <mqueue.h>

static mqd_t open_raw(const char *name, int flags, mode_t mode, void *attributes)
{
    return syscall(SYS_mq_open, name, flags, mode, attributes);
}

static void forget(mqd_t queue, const char *name)
{
    if (queue != -1)
        mq_close(queue);
    mq_unlink(name);
}

static void names(void)
{
    char text[300] = "/";
    memset(text + 1, 'n', 255);
    mqd_t queue = mq_open(text, O_RDWR | O_CREAT, 0600, NULL);
    HOLDS(queue != -1);
    forget(queue, text);
    text[256] = 'n';
    SHOW(mq_open(text, O_RDWR | O_CREAT, 0600, NULL));
    SHOW(mq_unlink(text));
    SHOW(open_raw("a/b", O_RDWR | O_CREAT, 0600, NULL));
    SHOW(open_raw("/a", O_RDWR | O_CREAT, 0600, NULL));
    SHOW(open_raw("", O_RDWR | O_CREAT, 0600, NULL));
    SHOW(open_raw(".", O_RDWR | O_CREAT, 0600, NULL));
    SHOW(open_raw("..", O_RDWR, 0600, NULL));
    SHOW(open_raw((void *)8, O_RDWR, 0600, NULL));
    SHOW(open_raw("name", O_RDWR | O_CREAT, 0600, (void *)8));
    SHOW(syscall(SYS_mq_unlink, ""));
    SHOW(syscall(SYS_mq_unlink, "a/b"));
    SHOW(mq_unlink("/nobody"));
    SHOW(mq_open("/nobody", O_RDONLY));
    SHOW(mq_open("/nobody", O_RDONLY | O_EXCL));
}

static void attributes(const char *what)
{
    static const long sizes[][2] = {{1, 1}, {10, 8192}, {11, 8192}, {10, 8193}, {0, 1}, {1, 0}, {-1, 1}, {1, -1}, {65536, 1}, {65537, 1}, {1, 16777216}, {1, 16777217}, {100, 8000}, {100, 8192}};
    say("as %s\n", what);
    for (unsigned at = 0; at < sizeof sizes / sizeof *sizes; at++) {
        struct mq_attr wanted = {.mq_flags = O_NONBLOCK, .mq_maxmsg = sizes[at][0], .mq_msgsize = sizes[at][1], .mq_curmsgs = 3}, found;
        errno = 0;
        mqd_t queue = mq_open("/sizes", O_RDWR | O_CREAT, 0600, &wanted);
        say("%ld of %ld: %s", sizes[at][0], sizes[at][1], queue == -1 ? error_name(errno) : "made");
        if (queue != -1 && mq_getattr(queue, &found) == 0)
            say(" %ld %ld %ld %ld", found.mq_flags, found.mq_maxmsg, found.mq_msgsize, found.mq_curmsgs);
        say("\n");
        forget(queue, "/sizes");
    }
}

static void as_other(void)
{
    setresgid(1000, 1000, 1000), setresuid(1000, 1000, 1000);
    attributes("another");
    SHOW(mq_open("/secret", O_RDONLY));
    SHOW(mq_open("/secret", O_RDWR | O_CREAT, 0666, NULL));
    SHOW(mq_open("/secret", O_RDWR | O_CREAT | O_EXCL, 0666, NULL));
    SHOW(mq_unlink("/secret"));
    SHOW(syscall(SYS_mq_unlink, "secret"));
    SHOW(mq_open("/half", O_RDWR));
    SHOW(mq_open("/half", O_WRONLY) == -1);
    mqd_t queue = mq_open("/half", O_RDONLY);
    HOLDS(queue != -1);
    SHOW(mq_unlink("/half"));
    queue = mq_open("/own", O_RDWR | O_CREAT, 0, NULL);
    HOLDS(queue != -1);
    SHOW(mq_open("/own", O_RDONLY));
    SHOW(mq_unlink("/own"));
}

static void limits(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_MSGQUEUE, &limit);
    say("%ld %ld\n", (long)limit.rlim_cur, (long)limit.rlim_max);
    setresuid(1001, 1001, 1001);
    mqd_t queues[20];
    char name[20];
    int count = 0;
    for (; count < 20; count++) {
        snprintf(name, sizeof name, "/limit-%d", count);
        if ((queues[count] = mq_open(name, O_RDWR | O_CREAT, 0600, NULL)) == -1)
            break;
    }
    say("%d, then %s\n", count, error_name(errno));
    /* What is unlinked and open counts. */
    SHOW(mq_unlink("/limit-0"));
    SHOW(mq_open("/limit-x", O_RDWR | O_CREAT, 0600, NULL));
    mq_close(queues[0]);
    HOLDS((queues[0] = mq_open("/limit-0", O_RDWR | O_CREAT, 0600, NULL)) != -1);
    limit.rlim_cur = 0;
    setrlimit(RLIMIT_MSGQUEUE, &limit);
    SHOW(mq_open("/limit-x", O_RDWR | O_CREAT, 0600, NULL));
    for (int at = 0; at < count; at++) {
        snprintf(name, sizeof name, "/limit-%d", at);
        forget(queues[at], name);
    }
}

int main(void)
{
    struct mq_attr attribute, old;
    names();
    attributes("root");
    mqd_t secret = mq_open("/secret", O_RDWR | O_CREAT, 0666 & ~066, NULL);
    umask(0);
    mqd_t half = mq_open("/half", O_RDWR | O_CREAT, 0644, NULL);
    in_child(as_other);
    forget(secret, "/secret"), forget(half, "/half");
    in_child(limits);

    struct stat status;
    umask(027);
    mqd_t queue = mq_open("/one", O_RDWR | O_CREAT | O_NONBLOCK, 0777, NULL);
    fstat(queue, &status);
    say("%o %ld %ld\n", status.st_mode, (long)status.st_size, (long)status.st_nlink);
    SHOW(mq_open("/one", O_RDWR | O_CREAT | O_EXCL, 0600, NULL));
    SHOW(mq_open("/one", 3));
    mqd_t second = mq_open("/one", O_RDONLY | O_CREAT, 0, NULL);
    SHOW(mq_getattr(queue, &attribute));
    say("%ld %ld %ld %ld\n", attribute.mq_flags == O_NONBLOCK, attribute.mq_maxmsg, attribute.mq_msgsize, attribute.mq_curmsgs);
    SHOW(mq_getattr(second, &attribute));
    say("%ld\n", attribute.mq_flags);
    attribute = (struct mq_attr){.mq_flags = O_NONBLOCK, .mq_maxmsg = 77, .mq_msgsize = 77};
    SHOW(mq_setattr(second, &attribute, &old));
    say("%ld %ld\n", old.mq_flags, old.mq_maxmsg);
    SHOW(mq_setattr(second, &attribute, &old));
    say("%d %ld %ld\n", old.mq_flags == O_NONBLOCK, old.mq_maxmsg, old.mq_msgsize);
    say("%d\n", (fcntl(second, F_GETFL) & O_NONBLOCK) != 0);
    attribute.mq_flags = O_RDWR;
    SHOW(mq_setattr(second, &attribute, NULL));
    SHOW(mq_getattr(0, &attribute));
    SHOW(mq_getattr(-1, &attribute));
    SHOW(syscall(SYS_mq_getsetattr, second, NULL, (void *)8));
    SHOW(syscall(SYS_mq_getsetattr, second, (void *)8, NULL));
    SHOW(syscall(SYS_mq_getsetattr, second, NULL, NULL));
    SHOW(mq_unlink("/one"));
    fstat(queue, &status);
    say("%ld\n", (long)status.st_nlink);
    SHOW(mq_unlink("/one"));
    SHOW(mq_open("/one", O_RDWR));
    mqd_t third = mq_open("/one", O_RDWR | O_CREAT, 0600, NULL);
    SHOW(mq_send(queue, "old", 3, 0));
    mq_getattr(third, &attribute);
    say("%ld\n", attribute.mq_curmsgs);
    SHOW(mq_close(third));
    SHOW(mq_close(third));
    show_file("/proc/sys/fs/mqueue/msg_max");
    show_file("/proc/sys/fs/mqueue/msg_default");
    show_file("/proc/sys/fs/mqueue/msgsize_max");
    show_file("/proc/sys/fs/mqueue/msgsize_default");
    show_file("/proc/sys/fs/mqueue/queues_max");
    SHOW(mq_unlink("/one"));
    return 0;
}
