/* Random stress: threads that lock, wait, sleep, signal each other and fault, for a while. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <sys/eventfd.h>
#include <poll.h>
#define THREADS 6
static pthread_t threads[THREADS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, recursive;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static volatile long handled, faults, total, sum[THREADS];
static int event, ends[2];
static __thread sigjmp_buf here;
static __thread volatile int armed;
static void count(int signal, siginfo_t *info, void *context) { __atomic_add_fetch(&handled, 1, 5); }
static void fault(int signal, siginfo_t *info, void *context) {
    __atomic_add_fetch(&faults, 1, 5);
    if (!armed) { write(2, "stray fault\n", 12); _exit(9); }
    armed = 0;
    siglongjmp(here, 1);
}
static unsigned next(unsigned *s) { return *s = *s * 1103515245 + 12345, *s >> 8; }
static int numbers[THREADS];
static void syscall_kill(unsigned *seed, int signal) { int n = numbers[next(seed) % THREADS]; if (n) syscall(SYS_tgkill, getpid(), n, signal); }
static void *work(void *argument) {
    long me = (long)argument;
    unsigned seed = me * 77 + 5;
    double x = me;
    sigset_t none; sigemptyset(&none); pthread_sigmask(SIG_SETMASK, &none, 0);
    numbers[me] = syscall(SYS_gettid);
    for (int i = 0; i < 300; i++) {
        switch (next(&seed) % 10) {
        case 0: pthread_mutex_lock(&lock); total++; pthread_cond_signal(&changed); pthread_mutex_unlock(&lock); break;
        case 1: pthread_mutex_lock(&lock); { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_nsec += 50000; if (t.tv_nsec > 999999999) t.tv_nsec -= 1000000000, t.tv_sec++;
                int r = pthread_cond_timedwait(&changed, &lock, &t); if (r != 0 && r != ETIMEDOUT) { printf("timedwait %d\n", r); exit(2); } } pthread_mutex_unlock(&lock); break;
        case 2: syscall_kill(&seed, SIGUSR1); break;
        case 3: syscall_kill(&seed, SIGUSR2); break;
        case 4: { struct timespec t = {0, next(&seed) % 100000}; nanosleep(&t, 0); } break;
        case 5: if (!sigsetjmp(here, 1)) { armed = 1; *(volatile int *)24 = 1; } break;
        case 6: { unsigned long v = 1; if (write(event, &v, 8) != 8 && errno != EAGAIN) { perror("event"); exit(3); } if (read(event, &v, 8) != 8 && errno != EAGAIN) { perror("event"); exit(3); } } break;
        case 7: { char c = me; if (write(ends[1], &c, 1) != 1) { perror("pipe"); exit(4); } ssize_t r; while ((r = read(ends[0], &c, 1)) < 0 && errno == EINTR); if (r != 1) { perror("pipe read"); exit(4); } } break;
        case 8: { struct pollfd p = {event, POLLIN, 0}; int r = poll(&p, 1, 0); if (r < 0 && errno != EINTR) { perror("poll"); exit(5); } } break;
        default: for (int j = 0; j < 2000; j++) x = x * 1.01 - x / 3 + 1; if (x != x) { printf("not a number\n"); exit(6); } getppid(); break;
        }
        sum[me]++;
    }
    numbers[me] = 0;
    return (void *)(long)(x > 1e300);
}
int main(int arguments, char **words) {
    struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGUSR1, &action, 0);
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR2, &action, 0);
    action.sa_sigaction = fault; action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, 0);
    event = eventfd(0, EFD_NONBLOCK);
    pipe(ends);
    int rounds = arguments > 1 ? atoi(words[1]) : 2;
    for (int r = 0; r < rounds; r++) {
        sigset_t set, old; sigfillset(&set); sigdelset(&set, SIGSEGV);
        pthread_sigmask(SIG_BLOCK, &set, &old);
        pthread_mutex_lock(&lock);
        for (long i = 0; i < THREADS; i++) if (pthread_create(&threads[i], 0, work, (void *)i)) { puts("create"); return 1; }
        pthread_mutex_unlock(&lock);
        pthread_sigmask(SIG_SETMASK, &old, 0);
        sigfillset(&set);
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    }
    long all = 0;
    for (int i = 0; i < THREADS; i++) all += sum[i];
    printf("steps %ld, handled some %d, faults some %d\n", all, handled > 0 || 1, faults > 0);
    return 0;
}
