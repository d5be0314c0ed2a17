/* call: epoll_wait, connect; covers: a connection that is refused while a set waits for it, by level and by edge */
#include "check.h"
#include <netinet/in.h>

static void try(unsigned flags)
{
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_port = htons(9)};
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | flags}, found = {0};
    int set = epoll_create1(0), client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), error = 0;
    socklen_t size = sizeof error;
    SHOW(connect(client, (void *)&there, sizeof there));
    epoll_ctl(set, EPOLL_CTL_ADD, client, &event);
    SHOW(epoll_wait(set, &found, 1, 1000));
    HOLDS((found.events & (EPOLLERR | EPOLLHUP)) == (EPOLLERR | EPOLLHUP));
    SHOW(getsockopt(client, SOL_SOCKET, SO_ERROR, &error, &size));
    say("%s\n", error_name(error));
    close(client);
    close(set);
}

int main(void)
{
    alarm(20);
    try(0);
    try(EPOLLET);
    return 0;
}
