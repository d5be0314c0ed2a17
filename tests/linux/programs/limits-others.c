/* call: prlimit64; covers: other processes' limits: who may set them, and that they hold */
#include "check.h"
#include <pthread.h>

static int ends[2];

static void *sleeper(void *unused)
{
    char byte;
    read(ends[0], &byte, 1);
    return unused;
}

static void child(void)
{
    struct rlimit limit;
    pthread_t thread;
    close(ends[1]);
    pthread_create(&thread, NULL, sleeper, NULL);
    pthread_join(thread, NULL);
    SHOW(dup(0));
    SHOW(dup(0));
    getrlimit(RLIMIT_NOFILE, &limit);
    say("%ld %ld\n", (long)limit.rlim_cur, (long)limit.rlim_max);
}

static pid_t target;

static void stranger(void)
{
    struct rlimit limit = {1, 1}, more = {5, RLIM_INFINITY};
    setresgid(1000, 1000, 1000);
    setresuid(1000, 1000, 1000);
    SHOW(prlimit(target, RLIMIT_CORE, NULL, &limit));
    SHOW(prlimit(target, RLIMIT_CORE, &limit, NULL));
    SHOW(prlimit(getppid(), RLIMIT_CORE, NULL, &limit));
    SHOW(prlimit(target, 99, NULL, &limit));
    SHOW(prlimit(getpid(), RLIMIT_CORE, &limit, NULL));
    SHOW(prlimit(getpid(), RLIMIT_CORE, &more, NULL));
}

/* Two processes of one user, who is not the superuser. */
static void equals(void)
{
    struct rlimit limit = {4, 6}, more = {6, 7}, old;
    int mine[2];
    setresgid(1000, 1000, 1000);
    setresuid(1000, 1000, 1000);
    pipe(mine);
    pid_t other = fork();
    if (other == 0) {
        char byte;
        close(mine[1]);
        read(mine[0], &byte, 1);
        _exit(0);
    }
    SHOW(prlimit(other, RLIMIT_CORE, &limit, &old));
    limit.rlim_cur = 0;
    SHOW(prlimit(other, RLIMIT_MSGQUEUE, &limit, NULL));
    SHOW(prlimit(other, RLIMIT_MSGQUEUE, &more, NULL));
    SHOW(prlimit(other, RLIMIT_MSGQUEUE, NULL, &old));
    say("%ld %ld\n", (long)old.rlim_cur, (long)old.rlim_max);
    close(mine[1]);
    wait_for(other);
}

int main(void)
{
    struct rlimit limit = {5, 10}, wrong = {3, 2};
    pipe(ends);
    target = make_child(child);
    nap(20);
    SHOW(prlimit(target, RLIMIT_NOFILE, &limit, NULL));
    SHOW(prlimit(target, RLIMIT_NOFILE, &wrong, NULL));
    SHOW(prlimit(target, 99, &limit, NULL));
    SHOW(prlimit(target, RLIMIT_NOFILE, (void *)8, NULL));
    SHOW(prlimit(target, RLIMIT_NOFILE, NULL, (void *)8));
    SHOW(prlimit(999999, RLIMIT_NOFILE, NULL, &limit));
    SHOW(prlimit(-1, RLIMIT_NOFILE, NULL, &limit));
    SHOW(prlimit(gettid(), 99, NULL, &limit));
    in_child(stranger);
    in_child(equals);
    close(ends[1]);
    wait_for(target);
    SHOW(prlimit(target, RLIMIT_NOFILE, NULL, &limit));
    return 0;
}
