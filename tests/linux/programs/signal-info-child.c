/* call: rt_sigaction, fork; covers: SIGCHLD for ends, stops and continuations */
#include "check.h"

static volatile int count;

static void handler(int number, siginfo_t *info, void *context)
{
    say("%s code %d status %d\n", signal_name(number), info->si_code, info->si_status);
    count++;
}

static void await(int wanted)
{
    while (count < wanted)
        nap(2);
}

static void child(void)
{
    raise(SIGSTOP);
    /* Two signals of which the second comes before the first is handled are one. */
    await_step(1);
    _exit(3);
}

int main(void)
{
    begin_steps();
    handle_info(SIGCHLD, handler, SA_RESTART);
    pid_t id = make_child(child);
    await(1);
    kill(id, SIGCONT);
    await(2);
    reach_step(1);
    wait_for(id);
    return 0;
}
