/* call: clone, futex, exit; covers: threads made and joined, with their results; also: musl dynamic */
#include "check.h"

static void *square(void *argument)
{
    long value = (long)argument;
    return (void *)(value * value);
}

int main(void)
{
    pthread_t threads[8];
    long sum = 0;
    for (long number = 0; number < 8; number++)
        SHOW(pthread_create(&threads[number], NULL, square, (void *)number));
    for (int number = 0; number < 8; number++) {
        void *result;
        pthread_join(threads[number], &result);
        sum += (long)result;
    }
    say("%ld\n", sum);
    return 0;
}
