/* call: futex; covers: timed waits on both clocks */
#include "check.h"

int main(void)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t change;
    pthread_condattr_t attributes;
    struct timespec until;
    pthread_condattr_init(&attributes);
    for (int clock = 0; clock < 2; clock++) {
        pthread_condattr_setclock(&attributes, clock);
        pthread_cond_init(&change, &attributes);
        long start = now();
        clock_gettime(clock, &until);
        until.tv_nsec += 20000000;
        if (until.tv_nsec >= 1000000000)
            until.tv_sec++, until.tv_nsec -= 1000000000;
        pthread_mutex_lock(&lock);
        say("%s\n", error_name(pthread_cond_timedwait(&change, &lock, &until)));
        pthread_mutex_unlock(&lock);
        HOLDS(now() - start >= 19);
    }
    return 0;
}
