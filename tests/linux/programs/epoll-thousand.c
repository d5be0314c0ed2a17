/* call: epoll_wait, epoll_ctl, poll; covers: a thousand pipes, looked at without a wait: all that was written before is found, and nothing else */
#include "check.h"

enum { FILES = 1000, ROUNDS = 40, MOST = 8 };

static int in[FILES], out[FILES], set;
static volatile int *turn;

static int chosen(int round, int which)
{
    return (round * 37 + which * 512 + which * which) % FILES;
}

static int count_of(int round)
{
    return round % 4 ? round % MOST : 1;
}

/* Writes the bytes of each round when it is called, and says so by memory alone. */
static void writer(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        while (*turn != 2 * round)
            sched_yield();
        for (int which = 0; which < count_of(round); which++)
            write(out[chosen(round, which)], "x", 1);
        *turn = 2 * round + 1;
    }
}

static long sum_of(int round)
{
    long sum = 0;
    for (int which = 0; which < count_of(round); which++)
        sum += chosen(round, which) + 1;
    return sum;
}

static long look(int timeout)
{
    struct epoll_event found[2 * MOST];
    long sum = 0;
    int count = epoll_wait(set, found, 2 * MOST, timeout);
    for (int which = 0; which < count; which++)
        sum += found[which].data.u32 + 1;
    return sum;
}

static void take(int round)
{
    char byte;
    for (int which = 0; which < count_of(round); which++)
        read(in[chosen(round, which)], &byte, 1);
}

int main(void)
{
    int wrong = 0, again = 0, late = 0, polled = 0;
    struct rlimit limit = {4096, 4096};
    static struct pollfd files[FILES];
    setrlimit(RLIMIT_NOFILE, &limit);
    set = epoll_create1(0);
    turn = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *turn = -1;
    for (int i = 0; i < FILES; i++) {
        int ends[2];
        if (pipe(ends))
            return 1;
        in[i] = ends[0];
        out[i] = ends[1];
        epoll_ctl(set, EPOLL_CTL_ADD, in[i], &(struct epoll_event){.events = EPOLLIN, .data.u32 = i});
        files[i] = (struct pollfd){.fd = in[i], .events = POLLIN};
    }
    pid_t child = make_child(writer);
    for (int round = 0; round < ROUNDS; round++) {
        late += look(round % 2) != 0;
        *turn = 2 * round;
        while (*turn != 2 * round + 1)
            sched_yield();
        wrong += look(0) != sum_of(round);
        again += look(0) != sum_of(round);
        if (round % 8 == 0)
            polled += poll(files, FILES, 0) != count_of(round);
        take(round);
    }
    wait_for(child);
    say("wrong %d, again %d, late %d, polled %d\n", wrong, again, late, polled);
    int taken = 0;
    for (int i = 0; i < FILES; i += 2)
        taken += epoll_ctl(set, EPOLL_CTL_DEL, in[i], 0) == 0;
    for (int i = 1; i < FILES; i += 2)
        epoll_ctl(set, EPOLL_CTL_MOD, in[i], &(struct epoll_event){.events = EPOLLIN | EPOLLONESHOT, .data.u32 = i});
    SHOW(look(0));
    for (int i = 0; i < 8; i++)
        write(out[i], "x", 1);
    SHOW(look(0));
    SHOW(look(1));
    say("taken %d\n", taken);
    return 0;
}
