/* Processes that end leave memory, ends of sockets and wakes to others: sends that were cut off keep nothing, no socket is on its way to itself,
   and who was killed while he waited is not woken. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "waits.h"
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
/* Sends pairs of sockets through themselves, and two pairs through each other, and drops them, until that was refused often. */
static void entangle(void)
{
    for (int i = 0, refused = 0; i < 1500 && refused < 10; i++) {
        int one[2], other[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, one) || socketpair(AF_UNIX, SOCK_STREAM, 0, other))
            break;
        if (i % 2)
            refused += send_both(one[0], one) < 0;
        else
            refused += send_both(one[0], other) < 0 || send_both(other[0], one) < 0;
        for (int end = 0; end < 2; end++)
            close(one[end]), close(other[end]);
    }
    _exit(0);
}
/* Lets processes wait at one word, kills half of them, and wakes as many as are left. */
static long wake_those_left(void)
{
    enum { ALL = 180 };
    unsigned *words = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int pids[ALL];
    for (int i = 0; i < ALL; i++)
        if ((pids[i] = fork()) == 0) {
            __sync_fetch_and_add(words + 1, 1);
            syscall(SYS_futex, words, FUTEX_WAIT, 0, 0);
            _exit(0);
        }
    while (*(volatile unsigned *)(words + 1) < ALL)
        usleep(1000);
    for (int i = 0; i < ALL; i++)
        await_wait(pids[i]);
    /* The servers that they asked have heard of them, too. */
    usleep(300000);
    /* Those that have waited longest are killed, so they are the first that a wake finds. */
    for (int i = 0; i < ALL / 2; i++)
        kill(pids[i], SIGKILL);
    for (int i = 0; i < ALL / 2; i++)
        waitpid(pids[i], 0, 0);
    long woken = syscall(SYS_futex, words, FUTEX_WAKE, ALL / 2);
    /* Who was not woken waits for ever. */
    alarm(100);
    while (wait(0) > 0)
        ;
    alarm(0);
    return woken;
}
/* With an argument only the waits are tried: below a monitor that relays, fewer can wait at once. */
int main(int count, char **arguments)
{
    if (arguments[count - 1] != arguments[0]) {
        printf("killed: %ld woken\n", wake_those_left());
        return 0;
    }
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
