/* Memory that several threads, calls and a child write to. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

volatile int counter, beside;
char text[64];
static pthread_barrier_t ready;

__attribute__((noinline)) static void count(int value)
{
    beside++;
    counter = value;
}

/* Each thread writes beside what is watched, and one of them writes to it. */
static void *thread(void *value)
{
    pthread_barrier_wait(&ready);
    for (int i = 0; i < 100; i++)
        beside++;
    if (value)
        counter = 7;
    for (int i = 0; i < 100; i++)
        beside++;
    return NULL;
}

__attribute__((noinline)) static int local(int value)
{
    volatile int mine = value, other = 0;
    for (int i = 0; i < 50; i++)
        other += i;
    mine += 2;
    return mine + other;
}

int main(void)
{
    int pipes[2];
    if (pipe(pipes) != 0)
        return 1;
    count(1);
    count(1);
    count(2);
    pthread_t made[3];
    pthread_barrier_init(&ready, NULL, 4);
    for (int i = 0; i < 3; i++)
        pthread_create(&made[i], NULL, thread, i == 1 ? &ready : NULL);
    pthread_barrier_wait(&ready);
    for (int i = 0; i < 100; i++)
        beside++;
    for (int i = 0; i < 3; i++)
        pthread_join(made[i], NULL);
    if (write(pipes[1], "hello, pipe", 12) != 12 || read(pipes[0], text, sizeof text) != 12)
        return 2;
    int child = fork();
    if (child == 0) {
        counter = 100;
        _exit(counter == 100 ? 3 : 4);
    }
    int status;
    waitpid(child, &status, 0);
    printf("%d, %s, child %d\n", local(40), text, WEXITSTATUS(status));
    fflush(stdout);
    return 0;
}
