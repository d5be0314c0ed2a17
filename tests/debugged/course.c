// Threads that take turns, and processes beside them: where a replay stops, none must lose its turn.
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int sum;
int children;

__attribute__((noinline)) void add(int number)
{
    sum += number;
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void waited(int status)
{
    children += status;
    __asm__ volatile("" ::: "memory");
}

static void *work(void *number)
{
    for (int turn = 0; turn < 5; turn++) {
        pthread_mutex_lock(&lock);
        add((int)(long)number);
        pthread_mutex_unlock(&lock);
        usleep(10000);
    }
    return 0;
}

int main(void)
{
    pthread_t threads[3];
    for (long number = 0; number < 3; number++)
        pthread_create(&threads[number], 0, work, (void *)(number + 1));
    for (int number = 0; number < 3; number++)
        pthread_join(threads[number], 0);
    for (int number = 0; number < 2; number++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            if (number == 1)
                execl("/bin/busybox", "false", (char *)0);
            _exit(2);
        }
        waitpid(child, &status, 0);
        waited(WEXITSTATUS(status));
    }
    printf("%d %d\n", sum, children);
    return 0;
}
