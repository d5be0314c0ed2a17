/* call: kill, wait4; covers: what each signal does to who has not asked; also: musl */
#include "check.h"

static int number;

static void child(void)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    raise(number);
    say("%s is ignored\n", signal_name(number));
}

int main(void)
{
    for (number = 1; number < 32; number++)
        if (number != SIGSTOP && number != SIGTSTP && number != SIGTTIN && number != SIGTTOU)
            in_child(child);
    number = SIGRTMIN;
    in_child(child);
    return 0;
}
