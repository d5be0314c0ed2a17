/* call: rt_sigtimedwait, rt_sigqueueinfo; covers: signals from a child while waiting: blocked or not, with and without a handler, ignored ones, values of queued ones, bad addresses; threads */
#include "check.h"

static volatile int entered;

static void handler(int signal)
{
    (void)signal;
    entered++;
}

/* A child that sends a signal some times. */
static int sender(int signal, int times)
{
    int pid = fork();
    if (pid == 0) {
        for (int i = 0; i < times; i++) {
            usleep(20000);
            kill(getppid(), signal);
        }
        _exit(0);
    }
    return pid;
}

static long take(sigset_t *set, siginfo_t *info, const struct timespec *limit)
{
    return syscall(SYS_rt_sigtimedwait, set, info, limit, 8);
}

static void *waits(void *argument)
{
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set), sigaddset(&set, SIGRTMIN + 2);
    int got = sigwaitinfo(&set, &info);
    note("the thread got %d code %d value %d\n", got - SIGRTMIN, info.si_code, info.si_value.sival_int);
    return argument;
}

int main(void)
{
    alarm(30);
    sigset_t none, set, empty;
    siginfo_t info;
    struct timespec second = {1, 0}, tenth = {0, 100000000};
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, 0);
    sigaction(SIGTERM, &action, 0);
    action.sa_handler = SIG_IGN;
    sigaction(SIGUSR2, &action, 0);
    sigemptyset(&empty), sigemptyset(&none), sigemptyset(&set);
    sigaddset(&set, SIGUSR1);

    int child = sender(SIGUSR1, 1);
    SHOW(take(&empty, &info, 0));
    HOLDS(entered == 1);
    waitpid(child, 0, 0);

    child = sender(SIGUSR1, 1);
    SHOW(take(&set, &info, 0) == SIGUSR1);
    HOLDS(info.si_code == SI_USER && info.si_pid == child && entered == 1);
    waitpid(child, 0, 0);

    sigprocmask(SIG_BLOCK, &set, 0);
    child = sender(SIGUSR1, 1);
    SHOW(take(&set, 0, 0) == SIGUSR1);
    waitpid(child, 0, 0);
    child = sender(SIGUSR1, 1);
    SHOW(take(&set, (void *)1, 0));
    waitpid(child, 0, 0);
    SHOW(take(&set, &info, (void *)1));
    SHOW(take((void *)1, &info, 0));
    SHOW(take(&set, &info, &tenth));

    /* An ignored one ends nothing, and can be waited for. */
    sigset_t other;
    sigemptyset(&other), sigaddset(&other, SIGUSR2);
    child = sender(SIGUSR2, 2);
    SHOW(take(&set, &info, &tenth));
    waitpid(child, 0, 0);
    sigprocmask(SIG_BLOCK, &other, 0);
    child = sender(SIGUSR2, 1);
    SHOW(take(&other, &info, &second) == SIGUSR2);
    waitpid(child, 0, 0);

    sigset_t terms;
    sigemptyset(&terms), sigaddset(&terms, SIGTERM);
    sigprocmask(SIG_BLOCK, &terms, 0);
    child = sender(SIGTERM, 1);
    SHOW(take(&terms, &info, &second) == SIGTERM);
    HOLDS(entered == 1);
    waitpid(child, 0, 0);

    /* Those for real time come in order, with their values. */
    sigset_t times;
    sigemptyset(&times);
    for (int i = 0; i < 3; i++)
        sigaddset(&times, SIGRTMIN + i);
    sigprocmask(SIG_BLOCK, &times, 0);
    child = fork();
    if (child == 0) {
        for (int i = 0; i < 4; i++)
            sigqueue(getppid(), SIGRTMIN + 1 - i % 2, (union sigval){.sival_int = 10 * i});
        _exit(0);
    }
    waitpid(child, 0, 0);
    for (int i = 0; i < 4; i++) {
        long got = take(&times, &info, &second);
        say("%ld code %d value %d\n", got - SIGRTMIN, info.si_code, info.si_value.sival_int);
        HOLDS(info.si_pid == child);
    }
    siginfo_t own = {.si_code = SI_QUEUE};
    own.si_value.sival_int = 77;
    SHOW(syscall(SYS_rt_sigqueueinfo, getpid(), SIGRTMIN, &own));
    say("%ld code %d value %d\n", take(&times, &info, &second) - SIGRTMIN, info.si_code, info.si_value.sival_int);
    SHOW(syscall(SYS_rt_sigqueueinfo, getpid(), SIGCHLD, &own));
    SHOW(syscall(SYS_rt_sigqueueinfo, getpid(), 65, &own));
    SHOW(syscall(SYS_rt_sigqueueinfo, 999999, SIGUSR1, &own));
    SHOW(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, (void *)1));
    own.si_code = SI_USER;
    SHOW(syscall(SYS_rt_sigqueueinfo, getppid(), SIGUSR1, &own));
    child = fork();
    if (child == 0) {
        own.si_code = SI_QUEUE;
        SHOW(syscall(SYS_rt_sigqueueinfo, getpid(), SIGCHLD, &own));
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    say("status %x\n", status);

    pthread_t thread;
    pthread_create(&thread, 0, waits, 0);
    usleep(50000);
    own.si_code = SI_QUEUE;
    own.si_value.sival_int = 99;
    SHOW(sigqueue(getpid(), SIGRTMIN + 2, own.si_value));
    pthread_join(thread, 0);
    say("%s", notes);
    return 0;
}
