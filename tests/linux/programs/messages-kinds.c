/* call: msgget, msgsnd, msgrcv, msgctl; covers: choosing by kind, cutting off, full queues, waiting, errors, removal under those who wait */
#include "check.h"

#include <sys/msg.h>

static int queue;

static struct {
    long kind;
    char text[9000];
} message;

static void put(long kind, const char *text, int flags)
{
    message.kind = kind;
    strcpy(message.text, text);
    SHOW(msgsnd(queue, &message, strlen(text) + 1, flags));
}

static void get(long kind, int size, int flags)
{
    memset(&message, 0, sizeof message);
    long count = msgrcv(queue, &message, size, kind, flags);
    if (count < 0)
        say("%ld: %s\n", kind, error_name(errno));
    else
        say("%ld: %ld %ld %.*s\n", kind, count, message.kind, (int)count, message.text);
}

static void receiver(void)
{
    get(5, 100, 0);
    get(6, 100, 0);
}

static void sender(void)
{
    message.kind = 1;
    SHOW(msgsnd(queue, &message, 8000, 0));
}

int main(void)
{
    struct msqid_ds state;
    queue = msgget(0x4e43, IPC_CREAT | IPC_EXCL | 0600);
    HOLDS(queue >= 0 && msgget(0x4e43, 0) == queue);
    SHOW(msgget(0x4e43, IPC_CREAT | IPC_EXCL));
    SHOW(msgget(0x4e44, 0));
    put(3, "three", 0), put(1, "one", 0), put(2, "two", 0), put(1, "again", 0), put(9, "nine", 0);
    put(0, "none", 0);
    put(-1, "less", 0);
    SHOW(msgsnd(queue, &message, 8193, 0));
    get(-2, 100, 0);
    get(2, 2, 0);
    get(2, 2, MSG_NOERROR);
    get(1, 100, MSG_EXCEPT);
    get(4, 100, IPC_NOWAIT);
    SHOW(msgctl(queue, IPC_STAT, &state));
    say("%d %d %d %o\n", (int)state.msg_qnum, (int)state.__msg_cbytes, (int)state.msg_qbytes, state.msg_perm.mode);
    HOLDS(state.msg_lspid == getpid() && state.msg_lrpid == getpid() && state.msg_stime && state.msg_rtime);
    get(0, 100, 0), get(0, 100, 0), get(0, 100, IPC_NOWAIT);
    pid_t child = make_child(receiver);
    nap(20);
    put(6, "six", 0);
    nap(20);
    /* The child prints alone from here on. */
    message.kind = 5;
    strcpy(message.text, "five");
    int result = msgsnd(queue, &message, 5, 0);
    wait_for(child);
    SHOW(result);
    message.kind = 1;
    SHOW(msgsnd(queue, &message, 8000, 0));
    SHOW(msgsnd(queue, &message, 8000, 0));
    SHOW(msgsnd(queue, &message, 8000, IPC_NOWAIT));
    child = make_child(sender);
    nap(20);
    result = msgrcv(queue, &message, 8000, 0, 0);
    wait_for(child);
    SHOW(result);
    child = make_child(sender);
    nap(20);
    result = msgctl(queue, IPC_RMID, NULL);
    wait_for(child);
    SHOW(result);
    SHOW(msgctl(queue, IPC_RMID, NULL));
    SHOW(msgsnd(queue, &message, 1, 0));
    return 0;
}
