/* Signals that come from other threads, timers and faults, to threads that run, wait, or sleep. */
#include "check.h"
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>

static volatile int hits, stop;
static volatile double result;
static sigjmp_buf place;
static sem_t ready;

static void hit(int signal, siginfo_t *info, void *context)
{
    hits++;
}

static void fault(int signal, siginfo_t *info, void *context)
{
    printf("fault %d, code %d, low address %d\n", signal, info->si_code, (uintptr_t)info->si_addr < 4096);
    siglongjmp(place, 1);
}

static void *spin(void *argument)
{
    double value = 1;
    while (!stop)
        value = value > 1e6 ? 1 : value * 1.0000001 + 0.5;
    result = value;
    return NULL;
}

static void *await(void *argument)
{
    sigset_t set;
    int got;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    SHOW(sigwait(&set, &got));
    SHOW(got);
    return NULL;
}

static void *pause_for_ever(void *argument)
{
    sem_post(&ready);
    for (;;)
        pause();
}

static void clean(void *argument)
{
    puts("cleaned");
}

static void *spin_for_ever(void *argument)
{
    pthread_cleanup_push(clean, NULL);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    sem_post(&ready);
    for (;;)
        ;
    pthread_cleanup_pop(0);
}

static void *write_later(void *argument)
{
    usleep(2000);
    eventfd_write(*(int *)argument, 7);
    return NULL;
}

static void handle(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigaction(signal, &action, NULL);
}

static void running(void)
{
    pthread_t thread;
    struct timespec moment = {0, 100000};
    handle(SIGUSR1, hit, SA_RESTART);
    pthread_create(&thread, NULL, spin, NULL);
    for (int count = 0; count < 200 || !hits; count++) {
        pthread_kill(thread, SIGUSR1);
        nanosleep(&moment, NULL);
    }
    stop = 1;
    pthread_join(thread, NULL);
    HOLDS(hits > 0 && result == result);
}

static void faults(void)
{
    handle(SIGSEGV, fault, 0);
    handle(SIGILL, fault, 0);
    handle(SIGTRAP, fault, 0);
    if (!sigsetjmp(place, 1))
        *(volatile int *)16 = 1;
    if (!sigsetjmp(place, 1))
        __asm__ volatile("ud2");
    if (!sigsetjmp(place, 1))
        __asm__ volatile("int3");
    char *page = (char *)hit;
    if (!sigsetjmp(place, 1))
        *(volatile char *)page = 1;
}

static void timers(void)
{
    struct itimerval often = {{0, 5000}, {0, 5000}}, never = {{0, 0}, {0, 0}};
    struct timespec longer = {5, 0}, left = {0, 0};
    handle(SIGALRM, hit, 0);
    hits = 0;
    setitimer(ITIMER_REAL, &often, NULL);
    for (int count = 0; count < 5; count++)
        SHOW(pause());
    setitimer(ITIMER_REAL, &never, NULL);
    HOLDS(hits >= 5);
    often.it_interval.tv_usec = often.it_value.tv_usec = 50000;
    setitimer(ITIMER_REAL, &often, NULL);
    SHOW(nanosleep(&longer, &left));
    HOLDS(left.tv_sec < 5);
    setitimer(ITIMER_REAL, &never, NULL);
    SHOW(alarm(100));
    HOLDS(alarm(0) > 0);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM, .sigev_value.sival_int = 9};
    struct itimerspec often_too = {{0, 10000000}, {0, 10000000}};
    SHOW(timer_create(CLOCK_MONOTONIC, &event, &timer));
    SHOW(timer_settime(timer, 0, &often_too, NULL));
    SHOW(pause());
    SHOW(timer_delete(timer));
}

static void threads(void)
{
    pthread_t thread;
    sigset_t set;
    void *value;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&thread, NULL, await, NULL);
    kill(getpid(), SIGUSR2);
    pthread_join(thread, NULL);
    sem_init(&ready, 0, 0);
    pthread_create(&thread, NULL, pause_for_ever, NULL);
    sem_wait(&ready);
    SHOW(pthread_cancel(thread));
    pthread_join(thread, &value);
    HOLDS(value == PTHREAD_CANCELED);
    pthread_create(&thread, NULL, spin_for_ever, NULL);
    sem_wait(&ready);
    SHOW(pthread_cancel(thread));
    pthread_join(thread, &value);
    HOLDS(value == PTHREAD_CANCELED);
}

static void queued(void)
{
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (int number = 42; number < 44; number++)
        SHOW(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = number}));
    for (int number = 42; number < 44; number++) {
        sigwaitinfo(&set, &info);
        printf("%d, code %d\n", info.si_value.sival_int, info.si_code);
    }
    struct timespec moment = {0, 1000000};
    SHOW(sigtimedwait(&set, &info, &moment));
}

static void files(void)
{
    pthread_t thread;
    sigset_t set;
    uint64_t value;
    struct signalfd_siginfo info;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 11}, found;
    struct itimerspec once = {{0, 0}, {0, 1000000}};
    int counter = eventfd(0, 0), timer = timerfd_create(CLOCK_MONOTONIC, 0), all = epoll_create1(0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    int signals = signalfd(-1, &set, 0);
    SHOW(epoll_ctl(all, EPOLL_CTL_ADD, counter, &event));
    SHOW(epoll_ctl(all, EPOLL_CTL_ADD, counter, &event));
    event.data.u64 = 12;
    SHOW(epoll_ctl(all, EPOLL_CTL_ADD, timer, &event));
    SHOW(epoll_wait(all, &found, 1, 0));
    pthread_create(&thread, NULL, write_later, &counter);
    SHOW(epoll_wait(all, &found, 1, -1));
    SHOW(found.data.u64);
    SHOW(read(counter, &value, 8));
    SHOW(value);
    pthread_join(thread, NULL);
    SHOW(timerfd_settime(timer, 0, &once, NULL));
    SHOW(epoll_wait(all, &found, 1, 5000));
    SHOW(found.data.u64);
    SHOW(read(timer, &value, 8));
    SHOW(value);
    raise(SIGUSR1);
    SHOW(read(signals, &info, sizeof info));
    SHOW(info.ssi_signo);
    SHOW(read(all, &value, 8));
    SHOW(close(all));
}

int main(void)
{
    running();
    faults();
    timers();
    threads();
    queued();
    files();
    return 0;
}
