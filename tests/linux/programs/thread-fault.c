/* call: rt_sigaction; covers: a fault's handler runs in the thread that made it */
#include "check.h"

static __thread sigjmp_buf back;
static pthread_t other;

static void handler(int number)
{
    say("%s in the other thread: %d\n", signal_name(number), pthread_equal(pthread_self(), other));
    siglongjmp(back, 1);
}

static void *start(void *argument)
{
    other = pthread_self();
    if (!sigsetjmp(back, 1))
        *(volatile int *)8 = 1;
    return NULL;
}

int main(void)
{
    pthread_t thread;
    handle(SIGSEGV, handler, 0);
    pthread_create(&thread, NULL, start, NULL);
    pthread_join(thread, NULL);
    if (!sigsetjmp(back, 1))
        *(volatile int *)8 = 1;
    return 0;
}
