/* call: mq_open, poll, epoll_wait, fcntl; covers: a queue's descriptor: readiness, what can be read of it, duplicates, descriptors that are sent, close on exec; also: musl */
#include "check.h"

#include <mqueue.h>

static mqd_t queue;

static void show_poll(void)
{
    struct pollfd entry = {.fd = queue, .events = POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM};
    int count = poll(&entry, 1, 0);
    say("poll %d %x\n", count, entry.revents);
}

static void send_late(void)
{
    nap(30);
    _exit(mq_send(queue, "late", 4, 0));
}

static void receive_late(void)
{
    char text[8];
    nap(30);
    _exit(mq_receive(queue, text, 8, NULL));
}

static void readiness(void)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = 5}, got;
    struct pollfd entry = {.fd = queue, .events = POLLIN};
    int set = epoll_create1(0);
    char text[8];
    show_poll();
    SHOW(mq_send(queue, "one", 3, 0));
    show_poll();
    SHOW(mq_send(queue, "two", 3, 0));
    show_poll();
    entry.events = POLLOUT;
    pid_t child = make_child(receive_late);
    SHOW(poll(&entry, 1, 2000));
    wait_for(child);
    SHOW(mq_receive(queue, text, 8, NULL));
    SHOW(epoll_ctl(set, EPOLL_CTL_ADD, queue, &event));
    SHOW(epoll_wait(set, &got, 1, 0));
    child = make_child(send_late);
    SHOW(epoll_wait(set, &got, 1, 2000));
    say("%x %d\n", got.events, got.data.u32);
    wait_for(child);
    event.events = EPOLLIN | EPOLLET;
    SHOW(epoll_ctl(set, EPOLL_CTL_MOD, queue, &event));
    SHOW(epoll_wait(set, &got, 1, 0));
    SHOW(epoll_wait(set, &got, 1, 0));
    SHOW(mq_receive(queue, text, 8, NULL));
    SHOW(mq_send(queue, "edge", 4, 0));
    SHOW(epoll_wait(set, &got, 1, 0));
    fd_set readable;
    FD_ZERO(&readable);
    FD_SET(queue, &readable);
    SHOW(select(queue + 1, &readable, NULL, NULL, NULL));
    SHOW(mq_receive(queue, text, 8, NULL));
    close(set);
}

static void as_file(void)
{
    char text[200];
    struct stat status;
    fstat(queue, &status);
    say("%o %ld %ld %d\n", status.st_mode, (long)status.st_size, (long)status.st_nlink, status.st_uid);
    mq_send(queue, "abc", 3, 0);
    ssize_t length = read(queue, text, sizeof text);
    say("%zd %.*s", length, (int)length, text);
    SHOW(read(queue, text, sizeof text));
    SHOW(lseek(queue, 6, SEEK_SET));
    SHOW(read(queue, text, 2));
    say("%.2s\n", text);
    SHOW(lseek(queue, 0, SEEK_CUR));
    SHOW(lseek(queue, -1, SEEK_SET));
    SHOW(pread(queue, text, 5, 0));
    say("%.5s\n", text);
    SHOW(write(queue, "x", 1));
    SHOW(mmap(NULL, 4096, PROT_READ, MAP_SHARED, queue, 0) == MAP_FAILED);
    SHOW(fchmod(queue, 0640));
    fstat(queue, &status);
    say("%o\n", status.st_mode);
    mqd_t writer = mq_open("/nacre-file", O_WRONLY);
    SHOW(read(writer, text, 10));
    SHOW(close(writer));
    SHOW(mq_receive(queue, text, 8, NULL));
    say("%d %d\n", fcntl(queue, F_GETFD), fcntl(queue, F_GETFL) & (O_ACCMODE | O_NONBLOCK));
    SHOW(fcntl(queue, F_SETFL, O_NONBLOCK));
    SHOW(mq_receive(queue, text, 8, NULL));
    SHOW(fcntl(queue, F_SETFL, 0));
    SHOW(isatty(queue));
    SHOW(fsync(queue));
}

static void sent_over(void)
{
    int ends[2];
    char room[CMSG_SPACE(sizeof(int))] = "", byte = 'b';
    struct iovec piece = {&byte, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    pid_t child = fork();
    if (child == 0) {
        close(queue);
        SHOW(recvmsg(ends[1], &message, 0));
        int got = *(int *)CMSG_DATA(CMSG_FIRSTHDR(&message));
        SHOW(mq_send(got, "by got", 6, 2));
        struct mq_attr attributes;
        SHOW(mq_getattr(got, &attributes));
        say("%ld\n", attributes.mq_curmsgs);
        _exit(0);
    }
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
    *(int *)CMSG_DATA(header) = queue;
    SHOW(sendmsg(ends[0], &message, 0));
    wait_for(child);
    char text[8];
    ssize_t length = mq_receive(queue, text, 8, NULL);
    say("%.*s\n", (int)length, text);
}

int main(int count, char **words)
{
    struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 8};
    if (count > 1) {
        int second = atoi(words[1]);
        SHOW(mq_send(second, "again", 5, 0));
        SHOW(fcntl(second + 1, F_GETFD));
        return 0;
    }
    queue = mq_open("/nacre-file", O_RDWR | O_CREAT, 0600, &attributes);
    readiness();
    as_file();
    sent_over();
    int second = dup2(queue, 40);
    fcntl(second, F_DUPFD_CLOEXEC, 41);
    pid_t child = fork();
    if (child == 0)
        again("40");
    wait_for(child);
    char text[8];
    ssize_t length = mq_receive(second, text, 8, NULL);
    say("%.*s\n", (int)length, text);
    SHOW(mq_unlink("/nacre-file"));
    return 0;
}
