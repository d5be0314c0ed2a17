/* call: execve; covers: number, parent, directory, umask, limits, group and timers stay */
#include "check.h"

int main(int count, char **words)
{
    char path[PATH_MAX];
    struct rlimit limit;
    struct itimerval timer;
    static char number[20];
    if (count > 1) {
        getcwd(path, sizeof path);
        getrlimit(RLIMIT_CORE, &limit);
        getitimer(ITIMER_REAL, &timer);
        HOLDS(atoi(words[1]) == getpid());
        HOLDS(timer.it_value.tv_sec > 50);
        say("%s %o %ld\n", strrchr(path, '/'), umask(0), (long)limit.rlim_cur);
        return 0;
    }
    mkdir("d", 0755), chdir("d");
    umask(037);
    limit = (struct rlimit){0, 4096};
    setrlimit(RLIMIT_CORE, &limit);
    timer = (struct itimerval){{0, 0}, {100, 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
    snprintf(number, sizeof number, "%d", getpid());
    again(number);
    return 1;
}
