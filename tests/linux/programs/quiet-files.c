/* call: epoll_wait, poll, select; covers: what was written before a wait began is found by it, among files that were quiet for many waits */
#include "check.h"

enum { FILES = 24, ROUNDS = 60 };

static int in[FILES], out[FILES], set, edges;
static volatile int *turn;

/* Which files get a byte in a round: one to three. */
static unsigned chosen(int round)
{
    unsigned bits = 1u << (round * 7 % FILES);
    if (round % 3)
        bits |= 1u << (round * 11 % FILES);
    if (round % 5 == 0)
        bits |= 1u << (round * 5 + 3) % FILES;
    return bits;
}

/* Writes the bytes of each round when it is called, and says so by memory alone. */
static void writer(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        while (*turn != 2 * round)
            sched_yield();
        for (int i = 0; i < FILES; i++)
            if (chosen(round) >> i & 1)
                write(out[i], "x", 1);
        *turn = 2 * round + 1;
    }
}

static unsigned by_poll(int timeout)
{
    struct pollfd files[FILES];
    unsigned found = 0;
    for (int i = 0; i < FILES; i++)
        files[i] = (struct pollfd){.fd = in[i], .events = POLLIN};
    poll(files, FILES, timeout);
    for (int i = 0; i < FILES; i++)
        found |= (files[i].revents == POLLIN) << i;
    return found;
}

static unsigned by_select(int timeout)
{
    struct timeval limit = {0, timeout * 1000};
    fd_set files;
    unsigned found = 0;
    FD_ZERO(&files);
    for (int i = 0; i < FILES; i++)
        FD_SET(in[i], &files);
    select(FD_SETSIZE, &files, 0, 0, &limit);
    for (int i = 0; i < FILES; i++)
        found |= (unsigned)!!FD_ISSET(in[i], &files) << i;
    return found;
}

static unsigned by_set(int which, int timeout)
{
    struct epoll_event events[FILES];
    unsigned found = 0;
    int count = epoll_wait(which, events, FILES, timeout);
    for (int i = 0; i < count; i++)
        found |= (events[i].events == EPOLLIN) << events[i].data.u32;
    return found;
}

static void drain(unsigned bits)
{
    char byte;
    for (int i = 0; i < FILES; i++)
        if (bits >> i & 1)
            read(in[i], &byte, 1);
}

int main(void)
{
    alarm(50);
    int wrong[4] = {0}, late = 0;
    set = epoll_create1(0);
    edges = epoll_create1(0);
    turn = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *turn = -1;
    for (int i = 0; i < FILES; i++) {
        int ends[2];
        if (i % 2 ? pipe(ends) : socketpair(AF_UNIX, i % 4 ? SOCK_STREAM : SOCK_DGRAM, 0, ends))
            return 1;
        in[i] = ends[0];
        out[i] = ends[1];
        epoll_ctl(set, EPOLL_CTL_ADD, in[i], &(struct epoll_event){.events = EPOLLIN, .data.u32 = i});
        epoll_ctl(edges, EPOLL_CTL_ADD, in[i], &(struct epoll_event){.events = EPOLLIN | EPOLLET, .data.u32 = i});
    }
    pid_t child = make_child(writer);
    for (int round = 0; round < ROUNDS; round++) {
        /* Waits in which nothing comes, so that all files are quiet. */
        for (int i = 0; i < 2; i++)
            late |= (round % 4 == 0 ? by_set(set, 1) : round % 4 == 1 ? by_poll(1) : round % 4 == 2 ? by_select(1) : by_set(edges, 1));
        *turn = 2 * round;
        while (*turn != 2 * round + 1)
            sched_yield();
        unsigned found = round % 4 == 0 ? by_set(set, 1000) : round % 4 == 1 ? by_poll(1000) : round % 4 == 2 ? by_select(1000) : by_set(edges, 1000);
        wrong[round % 4] += found != chosen(round);
        wrong[0] += by_set(set, 0) != chosen(round);
        /* Edges are told of once; the other waits did not take them. */
        if (round % 4 != 3)
            wrong[3] += by_set(edges, 1000) != chosen(round);
        drain(chosen(round));
    }
    wait_for(child);
    say("wrong: sets %d, poll %d, select %d, edges %d, late %d\n", wrong[0], wrong[1], wrong[2], wrong[3], late);
    for (int i = 0; i < FILES; i++)
        close(out[i]);
    unsigned ended = 0;
    struct epoll_event events[FILES];
    int count = epoll_wait(set, events, FILES, 1000);
    for (int i = 0; i < count; i++)
        ended |= !!(events[i].events & EPOLLHUP) << events[i].data.u32;
    say("ended %x\n", ended);
    return 0;
}
