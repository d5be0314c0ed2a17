/* call: wait4, times, getrusage, clock_gettime, clock_getres; covers: time that children and other threads have used, and whose clock it is */
#include "check.h"

static void burn(void)
{
    for (volatile int round = 0; round < 40000000; round++)
        continue;
}

static long microseconds(struct rusage *usage)
{
    return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 + usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
}

static void *thread(void *argument)
{
    struct rusage usage;
    burn();
    getrusage(RUSAGE_THREAD, &usage);
    *(long *)argument = microseconds(&usage);
    return NULL;
}

int main(void)
{
    struct rusage before, usage, child;
    struct timespec time;
    struct tms ticks;
    clockid_t clock;
    pthread_t other;
    long used = 0;
    getrusage(RUSAGE_CHILDREN, &before);
    say("%ld\n", microseconds(&before));
    pid_t id = fork();
    if (id == 0) {
        burn();
        _exit(0);
    }
    SHOW(wait4(id, NULL, 0, &child) == id);
    getrusage(RUSAGE_CHILDREN, &usage);
    HOLDS(microseconds(&child) > 5000);
    HOLDS(microseconds(&usage) >= microseconds(&child));
    HOLDS(times(&ticks) != -1 && ticks.tms_cutime + ticks.tms_cstime > 0);
    getrusage(RUSAGE_SELF, &before);
    HOLDS(microseconds(&before) < microseconds(&child));
    pthread_create(&other, NULL, thread, &used);
    pthread_join(other, NULL);
    getrusage(RUSAGE_SELF, &usage);
    HOLDS(used > 5000);
    HOLDS(microseconds(&usage) - microseconds(&before) >= used);
    getrusage(RUSAGE_THREAD, &usage);
    HOLDS(microseconds(&usage) < used);
    SHOW(clock_getcpuclockid(0, &clock));
    SHOW(clock_gettime(clock, &time));
    SHOW(pthread_getcpuclockid(pthread_self(), &clock));
    SHOW(clock_gettime(clock, &time));
    HOLDS(time.tv_sec * 1000000 + time.tv_nsec / 1000 > 0);
    SHOW(clock_getcpuclockid(999999, &clock));
    SHOW(clock_getres(CLOCK_PROCESS_CPUTIME_ID, &time));
    say("%ld %ld\n", (long)time.tv_sec, time.tv_nsec);
    return 0;
}
