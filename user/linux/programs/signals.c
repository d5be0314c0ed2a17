/* Handlers, masks, stacks of their own, jumps out of handlers, and the end by a signal. */
#include "check.h"
#include <setjmp.h>

static volatile int count;
static sigjmp_buf place;
static char *stack_start;

static void simple(int signal)
{
    count++;
    printf("handler %d\n", signal);
}

static void full(int signal, siginfo_t *info, void *context)
{
    char here;
    printf("full %d %d, own process %d, context %d, other stack %d\n", signal, info->si_signo, info->si_pid == getpid(), context != NULL,
           &here >= stack_start && &here < stack_start + 65536);
    raise(SIGUSR1);
    printf("still inside\n");
}

static void jump(int signal)
{
    siglongjmp(place, signal);
}

int main(int arguments, char **words)
{
    struct sigaction action = {.sa_handler = simple}, old;
    sigset_t set, before;
    double kept = 1.5;
    SHOW(sigaction(SIGUSR1, &action, NULL));
    SHOW(raise(SIGUSR1));
    SHOW(kill(getpid(), SIGUSR1));
    SHOW(count);
    SHOW(sigaction(SIGUSR1, NULL, &old));
    HOLDS(old.sa_handler == simple);
    SHOW(sigaction(SIGKILL, &action, NULL));
    SHOW(sigaction(77, &action, NULL));
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    SHOW(sigprocmask(SIG_BLOCK, &set, &before));
    SHOW(raise(SIGUSR1));
    SHOW(count);
    sigpending(&set);
    SHOW(sigismember(&set, SIGUSR1));
    SHOW(sigprocmask(SIG_SETMASK, &before, NULL));
    SHOW(count);
    stack_t stack = {.ss_sp = stack_start = malloc(65536), .ss_size = 65536};
    SHOW(sigaltstack(&stack, NULL));
    action.sa_sigaction = full;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    SHOW(sigaction(SIGUSR2, &action, NULL));
    SHOW(raise(SIGUSR2));
    SHOW(count);
    action.sa_handler = jump;
    action.sa_flags = 0;
    sigaction(SIGTERM, &action, NULL);
    int jumped = sigsetjmp(place, 1);
    printf("jumped %d\n", jumped);
    if (!jumped)
        raise(SIGTERM);
    SHOW(raise(SIGCHLD));
    SHOW(raise(SIGWINCH));
    SHOW(kill(getpid(), 0));
    SHOW(kill(getpid(), 99));
    HOLDS(kept * 2 == 3.0);
    fflush(stdout);
    if (arguments > 1 && strcmp(words[1], "term") == 0) {
        signal(SIGTERM, SIG_DFL);
        raise(SIGTERM);
    }
    abort();
}
