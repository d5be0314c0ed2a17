/* call: epoll_wait, epoll_ctl; covers: a set at which two threads wait, one event at a time, while a third changes it: no member is lost, and none is there twice */
#include "check.h"

enum { MEMBERS = 12, BYTES = 600 };

static int set, spare[2], ends[MEMBERS][2], failed;
static unsigned once;
static volatile int received, is_over;

static int control(int operation, int file, int member, unsigned events)
{
    struct epoll_event event = {.events = events, .data.u32 = member};
    return epoll_ctl(set, operation, file, &event);
}

static void *wait_and_read(void *unused)
{
    while (!is_over) {
        struct epoll_event event;
        char bytes[16];
        if (epoll_wait(set, &event, 1, 20) != 1 || event.data.u32 >= MEMBERS)
            continue;
        int file = ends[event.data.u32][0], count = recv(file, bytes, sizeof bytes, MSG_DONTWAIT);
        if (count > 0)
            __sync_fetch_and_add(&received, count);
        if (once && control(EPOLL_CTL_MOD, file, event.data.u32, EPOLLIN | once))
            __sync_fetch_and_add(&failed, 1);
    }
    return unused;
}

static void *change(void *unused)
{
    while (!is_over) {
        if (control(EPOLL_CTL_ADD, spare[0], MEMBERS, EPOLLIN) || control(EPOLL_CTL_DEL, spare[0], 0, 0))
            __sync_fetch_and_add(&failed, 1);
        sched_yield();
    }
    return unused;
}

static void run(const char *name, unsigned flags, int changes)
{
    pthread_t threads[3];
    struct epoll_event found[64];
    int times[MEMBERS + 1] = {0}, lost = 0, twice = 0;
    unsigned random = 1;
    set = epoll_create1(0);
    once = flags;
    received = is_over = failed = 0;
    socketpair(AF_UNIX, SOCK_STREAM, 0, spare);
    for (int i = 0; i < MEMBERS; i++) {
        socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]);
        control(EPOLL_CTL_ADD, ends[i][0], i, EPOLLIN | once);
    }
    for (int i = 0; i < 2 + changes; i++)
        pthread_create(&threads[i], 0, i == 2 ? change : wait_and_read, 0);
    for (int i = 0; i < BYTES; i++) {
        random = random * 1103515245 + 12345;
        send(ends[(random >> 16) % MEMBERS][1], "x", 1, 0);
        if (i % 16 == 0)
            usleep(100);
    }
    while (received < BYTES)
        usleep(1000);
    is_over = 1;
    for (int i = 0; i < 2 + changes; i++)
        pthread_join(threads[i], 0);
    for (int i = 0; i < MEMBERS; i++)
        send(ends[i][1], "y", 1, 0);
    for (int i = 0, count = epoll_wait(set, found, 64, 1000); i < count; i++)
        times[found[i].data.u32]++;
    for (int i = 0; i < MEMBERS; i++) {
        lost += times[i] == 0;
        twice += times[i] > 1;
        close(ends[i][0]);
        close(ends[i][1]);
    }
    say("%s: %d lost, %d twice, %d of others, %d failed\n", name, lost, twice, times[MEMBERS], failed);
    close(set);
}

int main(void)
{
    alarm(60);
    run("level", 0, 0);
    run("one shot", EPOLLONESHOT, 0);
    run("level, changed", 0, 1);
    run("one shot, changed", EPOLLONESHOT, 1);
    return 0;
}
