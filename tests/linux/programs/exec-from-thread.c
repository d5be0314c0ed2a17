/* call: execve, clone; covers: the other threads end, the number stays */
#include "check.h"

static char number[20];

static void *start(void *argument)
{
    again(number);
    say("%s\n", error_name(errno));
    return NULL;
}

int main(int count, char **words)
{
    pthread_t thread;
    if (count > 1) {
        HOLDS(atoi(words[1]) == getpid() && getpid() == syscall(SYS_gettid));
        return 0;
    }
    snprintf(number, sizeof number, "%d", getpid());
    pthread_create(&thread, NULL, start, NULL);
    for (;;)
        pause();
}
