/* call: getppid, getpid, gettid; covers: threads made before and after the process first asked, and threads of a forked child; also: musl */
#include "check.h"

static pid_t parent, own;

/* Two of them run at once, so that each leaves it to the first thread to print how many of its answers are right. */
static void *ask(void *unused)
{
    long right = (getppid() == parent) + (getpid() == own) + (gettid() != own);
    return (void *)(right + (syscall(SYS_getppid) == parent));
}

static void show_answers(pthread_t thread)
{
    void *right;
    pthread_join(thread, &right);
    say("%ld of 4 are right\n", (long)right);
}

static void in_threads(void)
{
    pthread_t thread[2];
    own = getpid();
    pthread_create(&thread[0], NULL, ask, NULL);
    show_answers(thread[0]);
    HOLDS(getppid() == parent);
    for (int round = 0; round < 2; round++)
        SHOW(pthread_create(&thread[round], NULL, ask, NULL));
    for (int round = 0; round < 2; round++)
        show_answers(thread[round]);
}

int main(void)
{
    pid_t first = getpid();
    parent = getppid();
    in_threads();
    pid_t child = fork();
    if (child == 0) {
        parent = first;
        in_threads();
        _exit(0);
    }
    SHOW(waitpid(child, NULL, 0) == child);
    return 0;
}
