/* call: futex; covers: many processes and threads that wait at one word, woken in numbers; bad addresses and sizes; the state of who waits */
#include "check.h"
#include <linux/futex.h>

static long futex(void *word, int operation, unsigned value, const struct timespec *limit, void *other, unsigned third)
{
    return syscall(SYS_futex, word, operation, value, limit, other, third);
}

static int *word;

static void *waits(void *argument)
{
    int *at = argument;
    futex(at, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
    return 0;
}

static char state(int pid)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int file = open(path, O_RDONLY);
    if (read(file, text, sizeof text - 1) <= 0)
        return '?';
    close(file);
    return strrchr(text, ')')[2];
}

int main(void)
{
    alarm(40);
    word = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int pids[21];
    for (int i = 0; i < 21; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            futex(word, FUTEX_WAIT, 0, 0, 0, 0);
            _exit(0);
        }
    }
    for (int i = 0; i < 21; i++)
        while (state(pids[i]) != 'S')
            usleep(1000);
    usleep(100000);
    for (int count = 1; count <= 6; count++) {
        say("%d: %ld\n", count, futex(word, FUTEX_WAKE, count, 0, 0, 0));
        for (int left = count; left != 0;)
            left -= wait(0) > 0;
    }
    SHOW(futex(word, FUTEX_WAKE, 1, 0, 0, 0));
    pthread_t threads[30];
    int local = 0;
    for (int i = 0; i < 30; i++)
        pthread_create(&threads[i], 0, waits, &local);
    usleep(200000);
    SHOW(futex(&local, FUTEX_WAKE_PRIVATE, 7, 0, 0, 0));
    SHOW(futex(&local, FUTEX_CMP_REQUEUE_PRIVATE, 3, (void *)10, word + 2, 0));
    SHOW(futex(&local, FUTEX_CMP_REQUEUE_PRIVATE, 3, (void *)10, word + 2, 1));
    SHOW(futex(word + 2, FUTEX_WAKE_PRIVATE, 100, 0, 0, 0));
    SHOW(futex(&local, FUTEX_WAKE_PRIVATE, 100, 0, 0, 0));
    for (int i = 0; i < 30; i++)
        pthread_join(threads[i], 0);
    struct timespec soon = {0, 1000000}, wrong = {0, 1000000000};
    SHOW(futex(&local, FUTEX_WAIT, 0, &soon, 0, 0));
    SHOW(futex(&local, FUTEX_WAIT, 1, &soon, 0, 0));
    SHOW(futex(&local, FUTEX_WAIT, 0, &wrong, 0, 0));
    SHOW(futex((char *)&local + 1, FUTEX_WAIT, 0, &soon, 0, 0));
    SHOW(futex((void *)4, FUTEX_WAIT, 0, &soon, 0, 0));
    SHOW(futex((void *)4, FUTEX_WAKE, 1, 0, 0, 0));
    SHOW(futex((void *)0xffff800000000000, FUTEX_WAIT, 0, &soon, 0, 0));
    SHOW(futex(&local, FUTEX_WAIT_BITSET, 0, &soon, 0, 0));
    SHOW(futex(&local, FUTEX_WAKE_BITSET, 1, 0, 0, 0));
    SHOW(futex(&local, 77, 0, 0, 0, 0));
    SHOW(futex(&local, FUTEX_CMP_REQUEUE, -1, (void *)1, word, 0));
    SHOW(futex(&local, FUTEX_CMP_REQUEUE, 1, (void *)-1, word, 0));
    char *hole = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SHOW(futex(hole, FUTEX_WAIT, 0, &soon, 0, 0));
    return 0;
}
