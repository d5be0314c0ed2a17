/* call: execve, rt_sigaction; covers: handlers go, ignored signals and the mask stay, pending ones too */
#include "check.h"

static void handler(int number)
{
}

int main(int count, char **words)
{
    sigset_t set;
    struct sigaction action;
    if (count > 1) {
        sigaction(SIGUSR1, NULL, &action);
        say("handled: %d\n", action.sa_handler == SIG_DFL);
        sigaction(SIGUSR2, NULL, &action);
        say("ignored: %d\n", action.sa_handler == SIG_IGN);
        sigprocmask(SIG_BLOCK, NULL, &set);
        say("blocked: %d %d\n", sigismember(&set, SIGTERM), sigismember(&set, SIGHUP));
        sigpending(&set);
        say("pending: %d\n", sigismember(&set, SIGTERM));
        return 0;
    }
    signal(SIGUSR1, handler);
    signal(SIGUSR2, SIG_IGN);
    sigemptyset(&set), sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGTERM);
    again("again");
    return 1;
}
