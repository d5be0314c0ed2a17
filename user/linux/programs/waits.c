/* Pipes, waiting for several files, clocks, and who the process is. */
#include "check.h"
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>

static void pipes(void)
{
    int ends[2], count;
    char text[20] = "";
    SHOW(pipe(ends));
    struct pollfd entries[3] = {{ends[0], POLLIN, 0}, {ends[1], POLLOUT, 0}, {77, POLLIN, 0}};
    SHOW(poll(entries, 3, 0));
    printf("%x %x %x\n", entries[0].revents, entries[1].revents, entries[2].revents);
    SHOW(write(ends[1], "through", 7));
    SHOW(ioctl(ends[0], FIONREAD, &count));
    printf("%d\n", count);
    SHOW(poll(entries, 2, -1));
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    SHOW(select(ends[0] + 1, &set, NULL, NULL, NULL));
    SHOW(read(ends[0], text, 20));
    printf("%s\n", text);
    struct timeval short_time = {0, 20000};
    SHOW(select(ends[0] + 1, &set, NULL, NULL, &short_time));
    HOLDS(!FD_ISSET(ends[0], &set));
    SHOW(fcntl(ends[0], F_SETFL, O_NONBLOCK));
    SHOW(read(ends[0], text, 20));
    SHOW(write(ends[0], text, 20));
    SHOW(lseek(ends[0], 0, SEEK_SET));
    SHOW(close(ends[1]));
    SHOW(poll(entries, 1, 100));
    printf("%x\n", entries[0].revents);
    SHOW(read(ends[0], text, 20));
    close(ends[0]);
    pipe(ends);
    close(ends[0]);
    signal(SIGPIPE, SIG_IGN);
    SHOW(write(ends[1], "x", 1));
    close(ends[1]);
}

static long long now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static void clocks(void)
{
    struct timespec pause = {0, 30000000}, wrong = {0, 1000000000};
    long long before = now(CLOCK_MONOTONIC), date = now(CLOCK_REALTIME);
    SHOW(nanosleep(&pause, NULL));
    long long passed = now(CLOCK_MONOTONIC) - before;
    HOLDS(passed >= 30000000 && passed < 3000000000ll);
    HOLDS(now(CLOCK_REALTIME) - date >= 29000000);
    HOLDS(date > 1600000000000000000ll);
    SHOW(nanosleep(&wrong, NULL));
    SHOW(clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL));
    SHOW(syscall(SYS_clock_gettime, 77, &pause));
    SHOW(clock_getres(CLOCK_MONOTONIC, &pause));
    struct timeval time_of_day;
    SHOW(gettimeofday(&time_of_day, NULL));
    HOLDS(llabs(time_of_day.tv_sec - (long long)time(NULL)) <= 1);
}

static void identity(void)
{
    struct utsname name;
    struct rlimit limit;
    struct rusage usage;
    struct sysinfo info;
    cpu_set_t cpus;
    SHOW(uname(&name));
    printf("%s %s\n", name.sysname, name.machine);
    HOLDS(getpid() > 0 && getpid() == syscall(SYS_gettid) && getppid() >= 0);
    SHOW(getuid() + geteuid() + getgid() + getegid());
    SHOW(getrlimit(RLIMIT_STACK, &limit));
    HOLDS(limit.rlim_cur >= 65536);
    SHOW(getrlimit(99, &limit));
    SHOW(getrusage(RUSAGE_SELF, &usage));
    SHOW(sysinfo(&info));
    HOLDS(info.totalram >= info.freeram && info.freeram > 0 && info.mem_unit == 1);
    HOLDS(sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) >= 1);
    SHOW(sched_yield());
    unsigned char random[32] = {0};
    SHOW(syscall(SYS_getrandom, random, sizeof random, 0));
    int zeros = 0;
    for (unsigned index = 0; index < sizeof random; index++)
        zeros += random[index] == 0;
    HOLDS(zeros < 8);
    SHOW(umask(077));
    SHOW(umask(022));
    SHOW(syscall(9999));
    int word = 5;
    SHOW(syscall(SYS_futex, &word, 0, 4, NULL));
    SHOW(syscall(SYS_futex, &word, 1, 1, NULL));
    SHOW(setresuid(5, 6, 7));
    SHOW(setuid(8));
    SHOW(seteuid(7));
    SHOW(geteuid());
}

int main(void)
{
    pipes();
    clocks();
    identity();
    return 0;
}
