/* call: sendto; covers: datagrams of the Internet to a port that nobody has are lost without a word, unless the socket is connected */
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>

int main(void)
{
    char text[8];
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_port = htons(9)};
    int socket_ = socket(AF_INET, SOCK_DGRAM, 0);
    for (int i = 0; i < 3; i++)
        SHOW(sendto(socket_, "lost", 4, 0, (void *)&there, sizeof there));
    SHOW(recv(socket_, text, sizeof text, MSG_DONTWAIT));
    struct iovec piece = {"lost, too", 9};
    struct msghdr header = {.msg_name = &there, .msg_namelen = sizeof there, .msg_iov = &piece, .msg_iovlen = 1};
    SHOW(sendmsg(socket_, &header, 0));
    close(socket_);

    int local = socket(AF_UNIX, SOCK_DGRAM, 0);
    struct sockaddr_un nobody = {.sun_family = AF_UNIX, .sun_path = "\0nobody has this name"};
    SHOW(sendto(local, "lost", 4, 0, (void *)&nobody, sizeof nobody));
    return 0;
}
