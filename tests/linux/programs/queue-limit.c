/* call: rt_sigqueueinfo, setrlimit; covers: RLIMIT_SIGPENDING gives EAGAIN */
#include "check.h"

int main(void)
{
    sigset_t set;
    struct rlimit limit = {3, 3};
    sigemptyset(&set), sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    SHOW(setrlimit(RLIMIT_SIGPENDING, &limit));
    int sent = 0;
    while (sent < 10 && sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = sent}) == 0)
        sent++;
    HOLDS(sent <= 3);
    say("%s\n", error_name(errno));
    return 0;
}
