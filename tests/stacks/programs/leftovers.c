/* Processes that end leave memory and ends of sockets to others: sends that were cut off keep nothing, and no socket is on its way to itself. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static void rung(int signal) { (void)signal; }
static void ring_every(int microseconds)
{
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, 0);
}
static long free_mebibytes(void)
{
    struct sysinfo info;
    sysinfo(&info);
    return (long)(info.freeram * info.mem_unit >> 20);
}
/* Sends 64 messages to each of ten full sockets, and is cut off in each. */
static void cut_off(void)
{
    static char message[150000];
    struct sigaction action = {.sa_handler = rung};
    sigaction(SIGALRM, &action, 0);
    for (int pair = 0; pair < 10; pair++) {
        int two[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, two))
            _exit(1);
        while (send(two[0], message, sizeof message, MSG_DONTWAIT) > 0)
            ;
        ring_every(4000);
        for (int i = 0; i < 64; i++)
            send(two[0], message, sizeof message, 0);
        ring_every(0);
    }
    _exit(0);
}
static int send_both(int by, const int two[2])
{
    char byte = 'x', control[CMSG_SPACE(2 * sizeof(int))] = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){.cmsg_len = CMSG_LEN(2 * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(header), two, 2 * sizeof(int));
    return sendmsg(by, &message, MSG_DONTWAIT);
}
/* Sends pairs of sockets through themselves, and two pairs through each other, and drops them. */
static void entangle(void)
{
    for (int i = 0; i < 1500; i++) {
        int one[2], other[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, one) || socketpair(AF_UNIX, SOCK_STREAM, 0, other))
            break;
        if (i % 2)
            send_both(one[0], one);
        else if (send_both(one[0], other) > 0)
            send_both(other[0], one);
        for (int end = 0; end < 2; end++)
            close(one[end]), close(other[end]);
    }
    _exit(0);
}
int main(void)
{
    long before = free_mebibytes();
    int status = -1;
    if (fork() == 0)
        cut_off();
    wait(&status);
    /* What is in queues, and what waits to be sent, may take 32 MiB, which the manager keeps for the next ones. */
    printf("cut off: status %x, memory is %s\n", status, before - free_mebibytes() < 48 ? "back" : "lost");
    for (int i = 0; i < 70; i++) {
        if (fork() == 0)
            entangle();
        wait(&status);
    }
    int pipes = 0, two[2];
    while (pipes < 200 && pipe(two) == 0)
        pipes++;
    printf("entangled: status %x, %d pipes\n", status, pipes);
    return 0;
}
