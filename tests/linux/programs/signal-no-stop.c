/* call: rt_sigaction, fork; covers: SA_NOCLDSTOP hears of ends alone */
#include "check.h"

static volatile int count;

static void handler(int number, siginfo_t *info, void *context)
{
    say("%s code %d\n", signal_name(number), info->si_code);
    count++;
}

static void child(void)
{
    raise(SIGSTOP);
}

int main(void)
{
    int status;
    handle_info(SIGCHLD, handler, SA_RESTART | SA_NOCLDSTOP);
    pid_t id = make_child(child);
    waitpid(id, &status, WUNTRACED);
    show_status(status);
    nap(10);
    kill(id, SIGCONT);
    wait_for(id);
    while (count < 1)
        nap(2);
    return 0;
}
