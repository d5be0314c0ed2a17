/* call: futex, arch_prctl; covers: once, thread-local variables, keys with destructors; also: musl dynamic */
#include "check.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static __thread int own = 5;
static int initialized, destroyed, wrong;

static void destroy(void *value)
{
    __atomic_add_fetch(&destroyed, (long)value, __ATOMIC_SEQ_CST);
}

static void initialize(void)
{
    initialized++;
    pthread_key_create(&key, destroy);
}

static void *start(void *argument)
{
    pthread_once(&once, initialize);
    wrong += own != 5;
    own += (long)argument;
    pthread_setspecific(key, argument);
    sched_yield();
    wrong += own != 5 + (long)argument || pthread_getspecific(key) != argument;
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    for (long number = 0; number < 4; number++)
        pthread_create(&threads[number], NULL, start, (void *)(number + 1));
    for (int number = 0; number < 4; number++)
        pthread_join(threads[number], NULL);
    say("%d %d %d %d\n", initialized, destroyed, wrong, own);
    return 0;
}
