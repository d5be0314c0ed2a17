/* call: futex; covers: recursive, error-checking, trylock, timed; also: musl */
#include "check.h"

int main(void)
{
    pthread_mutex_t lock;
    pthread_mutexattr_t kind;
    struct timespec past = {1, 0};
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &kind);
    SHOW(pthread_mutex_lock(&lock));
    SHOW(pthread_mutex_lock(&lock));
    SHOW(pthread_mutex_unlock(&lock));
    SHOW(pthread_mutex_unlock(&lock));
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&lock, &kind);
    SHOW(pthread_mutex_lock(&lock));
    say("%s\n", error_name(pthread_mutex_lock(&lock)));
    say("%s\n", error_name(pthread_mutex_trylock(&lock)));
    SHOW(pthread_mutex_unlock(&lock));
    say("%s\n", error_name(pthread_mutex_unlock(&lock)));
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_NORMAL);
    pthread_mutex_init(&lock, &kind);
    pthread_mutex_lock(&lock);
    say("%s\n", error_name(pthread_mutex_timedlock(&lock, &past)));
    return 0;
}
