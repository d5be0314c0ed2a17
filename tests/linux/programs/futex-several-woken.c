/* call: futex_waitv; covers: which word was woken, by threads and by processes, signals and bad arguments; also: dynamic */
#include "check.h"
#include <linux/futex.h>

struct wait {
    uint64_t value, address;
    uint32_t flags, reserved;
};

static uint32_t words[3];
static struct wait waits[3];

static long wait_for_several(struct wait *list, int count, struct timespec *until, int clock)
{
    return syscall(SYS_futex_waitv, list, count, 0, until, clock);
}

static void *waker(void *which)
{
    nap(20);
    syscall(SYS_futex, &words[(long)which], FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0);
    return NULL;
}

static void *other(void *unused)
{
    return (void *)wait_for_several(waits, 2, NULL, CLOCK_MONOTONIC);
}

static void on_signal(int number)
{
    say("%s\n", signal_name(number));
}

static uint32_t *shared;

static void child(void)
{
    nap(30);
    shared[1] = 1;
    syscall(SYS_futex, &shared[1], FUTEX_WAKE, 1, NULL, NULL, 0);
}

int main(void)
{
    pthread_t thread;
    struct timespec soon, odd = {0, -1};
    for (int i = 0; i < 3; i++)
        waits[i] = (struct wait){0, (uint64_t)&words[i], 2 | 128, 0};
    for (long i = 0; i < 3; i++) {
        pthread_create(&thread, NULL, waker, (void *)i);
        SHOW(wait_for_several(waits, 3, NULL, CLOCK_MONOTONIC));
        pthread_join(thread, NULL);
    }
    pthread_create(&thread, NULL, other, NULL);
    nap(20);
    SHOW(syscall(SYS_futex, &words[2], FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0));
    SHOW(syscall(SYS_futex, &words[1], FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0));
    void *woken;
    pthread_join(thread, &woken);
    SHOW(woken);
    SHOW(syscall(SYS_futex, &words[0], FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0));
    clock_gettime(CLOCK_MONOTONIC, &soon);
    soon.tv_nsec += 20000000;
    if (soon.tv_nsec >= 1000000000)
        soon.tv_sec++, soon.tv_nsec -= 1000000000;
    SHOW(wait_for_several(waits, 3, &soon, CLOCK_MONOTONIC));
    SHOW(wait_for_several(waits, 3, &soon, CLOCK_BOOTTIME));
    SHOW(wait_for_several(waits, 3, &odd, CLOCK_MONOTONIC));
    SHOW(wait_for_several(waits, 3, (void *)8, CLOCK_MONOTONIC));
    SHOW(wait_for_several(waits, 129, NULL, CLOCK_MONOTONIC));
    SHOW(wait_for_several(NULL, 1, NULL, CLOCK_MONOTONIC));
    SHOW(wait_for_several((void *)8, 1, NULL, CLOCK_MONOTONIC));
    struct wait bad[] = {{0, (uint64_t)&words[0] + 1, 2, 0}, {0, (uint64_t)&words[0], 3, 0}, {0, (uint64_t)&words[0], 0, 0}, {0, (uint64_t)&words[0], 2, 1}, {0, 8, 2, 0}};
    for (int i = 0; i < 5; i++)
        SHOW(wait_for_several(&bad[i], 1, NULL, CLOCK_MONOTONIC));
    handle(SIGALRM, on_signal, 0);
    ualarm(20000, 0);
    SHOW(wait_for_several(waits, 3, NULL, CLOCK_MONOTONIC));
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    waits[1] = (struct wait){0, (uint64_t)&shared[0], 2, 0};
    waits[2] = (struct wait){0, (uint64_t)&shared[1], 2, 0};
    pid_t id = make_child(child);
    SHOW(wait_for_several(waits, 3, NULL, CLOCK_MONOTONIC));
    wait_for(id);
    return 0;
}
