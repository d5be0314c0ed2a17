/* call: getppid, getpid, gettid; covers: threads made before and after the process first asked, and threads of a forked child; also: musl */
#include "check.h"

static pid_t parent, own;

static void *ask(void *unused)
{
    HOLDS(getppid() == parent && getpid() == own && gettid() != own);
    HOLDS(syscall(SYS_getppid) == parent);
    return NULL;
}

static void in_threads(void)
{
    pthread_t thread[2];
    own = getpid();
    pthread_create(&thread[0], NULL, ask, NULL);
    pthread_join(thread[0], NULL);
    HOLDS(getppid() == parent);
    for (int round = 0; round < 2; round++)
        SHOW(pthread_create(&thread[round], NULL, ask, NULL));
    for (int round = 0; round < 2; round++)
        pthread_join(thread[round], NULL);
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
