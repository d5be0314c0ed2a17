/* Signals of each kind: gdb sees them before the program gets them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

volatile int first, second, third, alarms, faults;
static pthread_barrier_t ready;
static volatile pid_t other;

static void handle(int signal)
{
    if (signal == SIGUSR1)
        first++;
    if (signal == SIGUSR2)
        second++;
    if (signal == SIGTERM)
        third++;
}

static void tick(int signal)
{
    alarms++;
}

static void mend(int signal, siginfo_t *info, void *context)
{
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
    faults++;
}

static void *thread(void *nothing)
{
    other = syscall(SYS_gettid);
    pthread_barrier_wait(&ready);
    while (!third)
        usleep(1000);
    return nothing;
}

__attribute__((noinline)) static void mark(void)
{
    __asm__ volatile("");
}

__attribute__((noinline)) static int work(int value)
{
    volatile int sum = value;
    for (int round = 0; round < 3; round++)
        sum += round;
    return sum;
}

int main(void)
{
    signal(SIGUSR1, handle);
    signal(SIGUSR2, handle);
    signal(SIGTERM, handle);
    signal(SIGHUP, SIG_IGN);
    mark();
    raise(SIGUSR1);
    raise(SIGUSR1);
    raise(SIGHUP);
    printf("first %d, second %d\n", first, second);
    fflush(stdout);
    pthread_t made;
    pthread_barrier_init(&ready, NULL, 2);
    pthread_create(&made, NULL, thread, NULL);
    pthread_barrier_wait(&ready);
    syscall(SYS_tgkill, getpid(), other, SIGTERM);
    pthread_join(made, NULL);
    signal(SIGALRM, tick);
    struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
    setitimer(ITIMER_REAL, &often, NULL);
    for (long spin = 0; alarms < 200; spin++)
        mark();
    setitimer(ITIMER_REAL, &never, NULL);
    if (fork() == 0)
        _exit(0);
    int status;
    while (wait(&status) < 0)
        ;
    struct sigaction fault = { .sa_flags = SA_SIGINFO };
    fault.sa_sigaction = mend;
    sigaction(SIGSEGV, &fault, NULL);
    /* Two bytes. */
    __asm__ volatile("xor %%eax, %%eax; mov %%al, (%%rax)" ::: "eax", "memory");
    printf("faults %d, %d\n", faults, work(1));
    fflush(stdout);
    return 0;
}
