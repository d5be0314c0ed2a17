/* call: fork; covers: directory, mask, dispositions, group, umask, limits; nothing pending, no timers */
#include "check.h"

static void handler(int number)
{
    say("%s\n", signal_name(number));
}

static void child(void)
{
    char path[PATH_MAX];
    sigset_t set;
    struct sigaction action;
    struct itimerval timer;
    struct rlimit limit;
    getcwd(path, sizeof path);
    say("%s\n", strrchr(path, '/'));
    sigprocmask(SIG_BLOCK, NULL, &set);
    say("blocked %d\n", sigismember(&set, SIGUSR1));
    sigpending(&set);
    say("pending %d\n", sigismember(&set, SIGUSR1));
    sigaction(SIGUSR2, NULL, &action);
    HOLDS(action.sa_handler == handler);
    HOLDS(getpgrp() == getpgid(getppid()));
    getitimer(ITIMER_REAL, &timer);
    say("timer %ld %ld\n", (long)timer.it_value.tv_sec, (long)timer.it_value.tv_usec);
    getrlimit(RLIMIT_CORE, &limit);
    say("limit %ld, umask %o\n", (long)limit.rlim_cur, umask(0));
    raise(SIGUSR2);
}

int main(void)
{
    sigset_t set;
    struct itimerval timer = {{0, 0}, {100, 0}};
    struct rlimit limit = {0, 4096};
    mkdir("d", 0755), chdir("d");
    sigemptyset(&set), sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1);
    handle(SIGUSR2, handler, 0);
    setitimer(ITIMER_REAL, &timer, NULL);
    setrlimit(RLIMIT_CORE, &limit);
    umask(031);
    in_child(child);
    return 0;
}
