/* call: mq_open, mq_timedsend, mq_timedreceive, mq_getsetattr, mq_unlink; covers: queues with priorities */
#include "check.h"

#include <mqueue.h>

int main(void)
{
    struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 16};
    char text[16] = "";
    unsigned priority;
    mqd_t queue = mq_open("/nacre-test", O_RDWR | O_CREAT | O_NONBLOCK, 0600, &attributes);
    HOLDS(queue != -1);
    SHOW(mq_send(queue, "low", 3, 1));
    SHOW(mq_send(queue, "high", 4, 9));
    SHOW(mq_receive(queue, text, 16, &priority));
    say("%.4s %d\n", text, priority);
    SHOW(mq_getattr(queue, &attributes));
    say("%ld\n", attributes.mq_curmsgs);
    SHOW(mq_unlink("/nacre-test"));
    return 0;
}
