// Receives descriptors from a program at the other end of a socket, which serves them itself, and polls, reads and asks them in each way.
// `receives COMMAND...` ends with 0 if this process still works afterwards, and the command ended with 0.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES 4
#define SOON 30 // Milliseconds that a poll waits.

static volatile sig_atomic_t signals;

static void handler(int number) { signals += number == SIGUSR1; }

// The next descriptor that comes, or -1.
static int receive(int socket) {
    char control[CMSG_SPACE(sizeof(int))], byte;
    struct iovec piece = {&byte, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    int file = -1;
    if (recvmsg(socket, &message, 0) != 1) return -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_type == SCM_RIGHTS) memcpy(&file, CMSG_DATA(header), sizeof file);
    return file;
}

static void wait_for(int file) {
    struct pollfd entry = {file, POLLIN | POLLOUT | POLLPRI, 0};
    struct timeval soon = {0, SOON * 1000};
    struct epoll_event event = {EPOLLIN | EPOLLET, {.fd = file}};
    fd_set reads;
    poll(&entry, 1, SOON);
    FD_ZERO(&reads);
    FD_SET(file, &reads);
    select(file + 1, &reads, 0, 0, &soon);
    int set = epoll_create1(0);
    if (epoll_ctl(set, EPOLL_CTL_ADD, file, &event) == 0) epoll_wait(set, &event, 1, SOON);
    event.events = EPOLLOUT | EPOLLONESHOT;
    if (epoll_ctl(set, EPOLL_CTL_MOD, file, &event) == 0) epoll_wait(set, &event, 1, SOON);
    close(set);
}

static void ask(int file) {
    static char bytes[5000];
    struct stat facts;
    struct iovec pieces[2] = {{bytes, 100}, {bytes + 100, 4000}};
    for (int turn = 0; turn < 5; turn++) {
        fstat(file, &facts);
        if (read(file, bytes, sizeof bytes) > (ssize_t) sizeof bytes) _exit(4);
        if (write(file, bytes, 300) > 300) _exit(4);
        if (readv(file, pieces, 2) > 4100) _exit(4);
        if (recv(file, bytes, sizeof bytes, MSG_DONTWAIT) > (ssize_t) sizeof bytes) _exit(4);
        lseek(file, 10, SEEK_SET);
        fcntl(file, F_SETFL, O_NONBLOCK);
        void *shown = mmap(0, 8192, PROT_READ, MAP_PRIVATE, file, 0);
        if (shown != MAP_FAILED) munmap(shown, 8192);
    }
}

int main(int count, char **words) {
    int pair[2], files[FILES], status = -1;
    struct sigaction act = {.sa_handler = handler};
    if (count < 2 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 2;
    sigaction(SIGUSR1, &act, 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(pair[0], 0), close(pair[0]), close(pair[1]);
        execvp(words[1], words + 1);
        _exit(126);
    }
    close(pair[0]);
    for (int number = 0; number < FILES; number++) {
        if ((files[number] = receive(pair[1])) < 0) return 3;
    }
    for (int turn = 0; turn < 3; turn++) {
        for (int number = 0; number < FILES; number++) wait_for(files[number]);
    }
    for (int number = 0; number < FILES; number++) ask(files[number]), wait_for(files[number]);
    // Signals still come, and the end of the socket tells the other side.
    kill(getpid(), SIGUSR1);
    for (int number = 0; number < FILES; number++) close(files[number]);
    close(pair[1]);
    if (waitpid(child, &status, 0) != child || signals != 1) return 5;
    pid_t other = fork();
    if (other == 0) _exit(7);
    int ended;
    if (waitpid(other, &ended, 0) != other || WEXITSTATUS(ended) != 7) return 6;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
