/* call: gettid, getpid, set_tid_address; covers: one process, many numbers */
#include "check.h"

static pid_t first;
static volatile pid_t number;

static void *start(void *argument)
{
    number = syscall(SYS_gettid);
    HOLDS(getpid() == first && number != first);
    HOLDS(syscall(SYS_set_tid_address, argument) == number);
    reach_step(1);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    static int word;
    begin_steps();
    first = getpid();
    HOLDS(syscall(SYS_gettid) == first);
    pthread_create(&thread, NULL, start, &word);
    /* It cannot be joined any more: its end is told elsewhere. */
    await_step(1);
    SHOW(syscall(SYS_tgkill, first, first, 0));
    return 0;
}
