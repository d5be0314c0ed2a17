/* call: msgget, msgsnd, msgrcv, msgctl; covers: queues with kinds */
#include "check.h"

#include <sys/msg.h>

int main(void)
{
    struct {
        long kind;
        char text[10];
    } message = {3, "three"}, found;
    int queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    HOLDS(queue >= 0);
    SHOW(msgsnd(queue, &message, 6, 0));
    message.kind = 1, memcpy(message.text, "one", 4);
    SHOW(msgsnd(queue, &message, 4, 0));
    SHOW(msgrcv(queue, &found, 10, 1, 0));
    say("%s\n", found.text);
    SHOW(msgrcv(queue, &found, 10, 0, 0));
    say("%s\n", found.text);
    SHOW(msgrcv(queue, &found, 10, 0, IPC_NOWAIT));
    SHOW(msgctl(queue, IPC_RMID, NULL));
    return 0;
}
