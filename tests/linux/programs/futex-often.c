/* call: futex, mmap, fork; covers: words at which processes wait for each other often: in turn, several at once, moved, with limits, cut off by signals, and with one killed */
#include "check.h"

#include <linux/futex.h>

enum { ROUNDS = 200, WORKERS = 3 };

/* Words in shared memory: whose turn it is, a lock, what it guards, a gate, and another. */
static struct {
    int turn, lock, count, gate, there;
} *shared;

static long futex(int *word, int operation, int value, const void *fourth, int *second, int third)
{
    return syscall(SYS_futex, word, operation, value, fourth, second, third);
}

static void take_turns(int own)
{
    for (int round = 0; round < ROUNDS; round++) {
        while (__atomic_load_n(&shared->turn, __ATOMIC_SEQ_CST) != own)
            futex(&shared->turn, FUTEX_WAIT, !own, NULL, NULL, 0);
        __atomic_store_n(&shared->turn, !own, __ATOMIC_SEQ_CST);
        futex(&shared->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

static void partner(void)
{
    take_turns(1);
}

/* A lock as libraries make it: 0 free, 1 taken, 2 taken and somebody waits. */
static void take(void)
{
    int old = 0;
    if (__atomic_compare_exchange_n(&shared->lock, &old, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return;
    while (__atomic_exchange_n(&shared->lock, 2, __ATOMIC_SEQ_CST) != 0)
        futex(&shared->lock, FUTEX_WAIT, 2, NULL, NULL, 0);
}

static void give(void)
{
    if (__atomic_exchange_n(&shared->lock, 0, __ATOMIC_SEQ_CST) == 2)
        futex(&shared->lock, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void worker(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        take();
        int before = shared->count;
        sched_yield();
        shared->count = before + 1;
        give();
    }
}

static void waiter(void)
{
    __atomic_add_fetch(&shared->there, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&shared->gate, __ATOMIC_SEQ_CST) == 0)
        futex(&shared->gate, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static void several(void)
{
    pid_t ids[WORKERS];
    for (int number = 0; number < WORKERS; number++)
        ids[number] = make_child(waiter);
    while (__atomic_load_n(&shared->there, __ATOMIC_SEQ_CST) < WORKERS)
        nap(1);
    nap(30);
    kill(ids[0], SIGKILL);
    waitpid(ids[0], NULL, 0);
    /* Nothing has changed: who is woken waits again. */
    for (int round = 0; round < 20; round++) {
        futex(&shared->gate, FUTEX_WAKE, 1, NULL, NULL, 0);
        nap(1);
    }
    nap(30);
    __atomic_store_n(&shared->gate, 1, __ATOMIC_SEQ_CST);
    SHOW(futex(&shared->gate, FUTEX_WAKE, 100, NULL, NULL, 0));
    SHOW(futex(&shared->gate, FUTEX_WAKE, 100, NULL, NULL, 0));
    for (int number = 1; number < WORKERS; number++)
        wait_for(ids[number]);
}

static volatile int alarms;

static void on_alarm(int number)
{
    alarms++;
}

static void limits(void)
{
    struct timespec short_time = {0, 2000000};
    int late = 0;
    for (int round = 0; round < 40; round++)
        late += futex(&shared->gate, FUTEX_WAIT, 1, &short_time, NULL, 0) == -1 && errno == ETIMEDOUT;
    say("%d late\n", late);
    SHOW(futex(&shared->gate, FUTEX_WAIT, 7, NULL, NULL, 0));
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval soon = {{0}, {0, 50000}};
    setitimer(ITIMER_REAL, &soon, NULL);
    SHOW(futex(&shared->gate, FUTEX_WAIT, 1, NULL, NULL, 0));
    say("%d alarms\n", alarms);
}

int main(void)
{
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t ids[WORKERS], id = make_child(partner);
    take_turns(0);
    wait_for(id);
    say("turn %d\n", shared->turn);
    for (int number = 0; number < WORKERS; number++)
        ids[number] = make_child(worker);
    for (int number = 0; number < WORKERS; number++)
        wait_for(ids[number]);
    say("%d counted, lock %s\n", shared->count, shared->lock == 0 ? "free" : "taken");
    several();
    limits();
    return 0;
}
