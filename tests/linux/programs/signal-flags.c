/* call: rt_sigaction; covers: SA_RESETHAND, SA_NODEFER, the handler's own mask; also: musl */
#include "check.h"

static int depth;

static void nested(int number)
{
    depth++;
    say("%s at depth %d\n", signal_name(number), depth);
    if (depth < 3)
        raise(number);
    depth--;
}

static void other(int number)
{
    say("%s\n", signal_name(number));
}

static void masking(int number)
{
    say("begin\n");
    raise(SIGUSR2);
    say("end\n");
}

int main(void)
{
    struct sigaction action = {.sa_handler = nested, .sa_flags = SA_NODEFER}, old;
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    action.sa_flags = SA_RESETHAND, action.sa_handler = other;
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    sigaction(SIGUSR1, NULL, &old);
    HOLDS(old.sa_handler == SIG_DFL);
    handle(SIGUSR2, other, 0);
    action.sa_flags = 0, action.sa_handler = masking;
    sigaddset(&action.sa_mask, SIGUSR2);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    return 0;
}
