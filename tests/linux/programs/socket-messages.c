/* call: sendmmsg, recvmmsg; covers: several messages in one call */
#include "check.h"

int main(void)
{
    int pair[2];
    char texts[3][10] = {"", "", ""};
    struct iovec out[3] = {{"one", 3}, {"two", 3}, {"three", 5}}, in[3] = {{texts[0], 9}, {texts[1], 9}, {texts[2], 9}};
    struct mmsghdr messages[3] = {{{0}, 0}};
    socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
    for (int index = 0; index < 3; index++)
        messages[index].msg_hdr = (struct msghdr){.msg_iov = &out[index], .msg_iovlen = 1};
    SHOW(sendmmsg(pair[0], messages, 3, 0));
    say("%d %d %d\n", messages[0].msg_len, messages[1].msg_len, messages[2].msg_len);
    for (int index = 0; index < 3; index++)
        messages[index].msg_hdr = (struct msghdr){.msg_iov = &in[index], .msg_iovlen = 1};
    SHOW(recvmmsg(pair[1], messages, 2, 0, NULL));
    SHOW(recvmmsg(pair[1], messages + 2, 1, MSG_DONTWAIT, NULL));
    say("%s %s %s\n", texts[0], texts[1], texts[2]);
    SHOW(recvmmsg(pair[1], messages, 2, MSG_DONTWAIT, NULL));
    return 0;
}
