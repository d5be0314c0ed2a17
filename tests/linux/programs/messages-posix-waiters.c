/* call: mq_timedreceive, mq_timedsend; covers: several that wait: who waits longest is first, in threads and processes; a full queue that is emptied; unlinked queues; also: dynamic */
#include "check.h"

#include <mqueue.h>

static mqd_t queue;
static char order[20];
static int used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *receive(void *name)
{
    char text[8];
    ssize_t length = mq_receive(queue, text, 8, NULL);
    pthread_mutex_lock(&lock);
    order[used++] = *(char *)name;
    order[used++] = length == 1 ? text[0] : '!';
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *send_one(void *name)
{
    if (mq_send(queue, name, 1, 0) == -1)
        say("%s\n", error_name(errno));
    return NULL;
}

static void threads_receive(void)
{
    pthread_t threads[4];
    for (int at = 0; at < 4; at++) {
        pthread_create(&threads[at], NULL, receive, "abcd" + at);
        nap(20);
    }
    for (int at = 0; at < 4; at++) {
        SHOW(mq_send(queue, "1234" + at, 1, at));
        pthread_join(threads[at], NULL);
    }
    say("%s\n", order);
}

static void threads_send(void)
{
    pthread_t threads[4];
    char text[8];
    struct mq_attr attributes;
    mq_send(queue, "x", 1, 0), mq_send(queue, "y", 1, 0);
    for (int at = 0; at < 4; at++) {
        pthread_create(&threads[at], NULL, send_one, "pqrs" + at);
        nap(20);
    }
    mq_getattr(queue, &attributes);
    say("%ld\n", attributes.mq_curmsgs);
    for (int at = 0; at < 6; at++) {
        ssize_t length = mq_receive(queue, text, 8, NULL);
        say("%.*s", (int)length, text);
    }
    say("\n");
    for (int at = 0; at < 4; at++)
        pthread_join(threads[at], NULL);
}

static void child(void)
{
    char text[8];
    ssize_t length = mq_receive(queue, text, 8, NULL);
    _exit(length == 1 ? text[0] : 1);
}

static void processes(void)
{
    pid_t children[3];
    int status;
    for (int at = 0; at < 3; at++) {
        children[at] = make_child(child);
        nap(30);
    }
    /* Who has ended waits no more. */
    kill(children[0], SIGKILL);
    wait_for(children[0]);
    for (int at = 1; at < 3; at++) {
        SHOW(mq_send(queue, "0fs" + at, 1, 0));
        waitpid(children[at], &status, 0);
        say("%c\n", WEXITSTATUS(status));
    }
    struct mq_attr attributes;
    mq_getattr(queue, &attributes);
    say("%ld\n", attributes.mq_curmsgs);
}

static void named(void)
{
    mqd_t own = mq_open("/nacre-waiters", O_WRONLY);
    HOLDS(own != -1);
    nap(20);
    SHOW(mq_unlink("/nacre-waiters"));
    _exit(mq_send(own, "u", 1, 0));
}

int main(void)
{
    struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 8};
    char text[8];
    queue = mq_open("/nacre-waiters", O_RDWR | O_CREAT, 0600, &attributes);
    threads_receive();
    threads_send();
    processes();
    pid_t other = make_child(named);
    SHOW(mq_receive(queue, text, 8, NULL));
    say("%c\n", text[0]);
    wait_for(other);
    SHOW(mq_open("/nacre-waiters", O_RDWR));
    return 0;
}
