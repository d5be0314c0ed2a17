/* call: set_robust_list, futex; covers: the owner was another process */
#include "check.h"

static pthread_mutex_t *lock;

static void child(void)
{
    pthread_mutex_lock(lock);
}

int main(void)
{
    pthread_mutexattr_t kind;
    lock = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(lock, &kind);
    in_child(child);
    say("%s\n", error_name(pthread_mutex_lock(lock)));
    return 0;
}
