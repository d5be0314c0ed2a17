/* call: clone, exit, munmap; covers: nobody joins; their memory comes back */
#include "check.h"

static int ran;

static void *start(void *argument)
{
    __atomic_add_fetch(&ran, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    SHOW(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED));
    SHOW(pthread_attr_setstacksize(&attributes, 65536));
    for (int number = 0; number < 50; number++)
        pthread_create(&thread, &attributes, start, NULL);
    while (__atomic_load_n(&ran, __ATOMIC_SEQ_CST) < 50)
        nap(2);
    say("%d\n", ran);
    return 0;
}
