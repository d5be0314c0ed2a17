/* call: set_robust_list, get_robust_list, futex; covers: a lock whose owner ended */
#include "check.h"

static pthread_mutex_t lock;

static void *start(void *argument)
{
    pthread_mutex_lock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_mutexattr_t kind;
    void *head;
    size_t size;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &kind);
    pthread_create(&thread, NULL, start, NULL);
    pthread_join(thread, NULL);
    say("%s\n", error_name(pthread_mutex_lock(&lock)));
    SHOW(pthread_mutex_consistent(&lock));
    SHOW(pthread_mutex_unlock(&lock));
    SHOW(pthread_mutex_lock(&lock));
    SHOW(syscall(SYS_get_robust_list, 0, &head, &size));
    say("%ld\n", (long)size);
    SHOW(syscall(SYS_set_robust_list, head, 8));
    return 0;
}
