/* call: mmap, mprotect; covers: a stack's size, its guard page */
#include "check.h"

static void *start(void *argument)
{
    pthread_attr_t attributes;
    size_t size, guard;
    void *stack;
    char frame[60000];
    memset(frame, 1, sizeof frame);
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &stack, &size);
    pthread_attr_getguardsize(&attributes, &guard);
    say("%ld %ld\n", (long)size, (long)guard);
    HOLDS((char *)&attributes >= (char *)stack && (char *)&attributes < (char *)stack + size);
    SHOW(write(1, (char *)stack - 1, 1));
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 131072);
    pthread_create(&thread, &attributes, start, NULL);
    pthread_join(thread, NULL);
    return 0;
}
