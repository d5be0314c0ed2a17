/* call: futex, mmap, fork; covers: a mutex and a condition between processes */
#include "check.h"

static struct shared {
    pthread_mutex_t lock;
    pthread_cond_t change;
    int turn, count;
} *shared;

static void take_turns(int own)
{
    for (int round = 0; round < 100; round++) {
        pthread_mutex_lock(&shared->lock);
        while (shared->turn != own)
            pthread_cond_wait(&shared->change, &shared->lock);
        shared->turn = !own;
        shared->count++;
        pthread_cond_broadcast(&shared->change);
        pthread_mutex_unlock(&shared->lock);
    }
}

static void child(void)
{
    take_turns(1);
}

int main(void)
{
    pthread_mutexattr_t kind;
    pthread_condattr_t attributes;
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_init(&kind), pthread_condattr_init(&attributes);
    pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
    pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->lock, &kind);
    pthread_cond_init(&shared->change, &attributes);
    pid_t id = make_child(child);
    take_turns(0);
    wait_for(id);
    say("%d\n", shared->count);
    return 0;
}
