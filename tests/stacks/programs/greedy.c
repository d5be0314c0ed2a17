/* One process takes all that a world has of what is kept for processes, and another one works
   meanwhile: semaphores and what is undone with them, messages with and without bytes, shared
   memory, sockets full of bytes and descriptors, terminals, POSIX's queues of messages and what is
   in them, rings of pipes, contents of files and names. Says what
   did not go, and ends with 1 then. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

static void must(long result, const char *what) {
    if (result < 0) {
        printf("%s: %s\n", what, strerror(errno));
        failures++;
    }
}
#define MUST(call) must(call, #call)

static int set_of(int count) {
    return semget(IPC_PRIVATE, count, 0600);
}

static void take_semaphores(void) {
    int first = set_of(8000);
    for (int index = 0; index < 8000; index++) {
        struct sembuf up = {index, 1, SEM_UNDO | IPC_NOWAIT};
        if (semop(first, &up, 1) < 0) break;
    }
    for (int size = 8000; size > 0; size /= 2)
        while (set_of(size) >= 0);
}

static void take_messages(size_t size) {
    static struct { long type; char bytes[8192]; } message = {1, ""};
    for (int count = 0; count < 100; count++) {
        int queue = msgget(IPC_PRIVATE, 0600);
        struct msqid_ds state;
        if (queue < 0 || msgctl(queue, IPC_STAT, &state) < 0) return;
        state.msg_qbytes = 1 << 20;
        if (msgctl(queue, IPC_SET, &state) < 0) return;
        while (msgsnd(queue, &message, size, IPC_NOWAIT) == 0);
        if (errno == ENOMEM) return;
    }
}

/* Sends it as often as it goes; how often that was. */
static int send_descriptor(int socket, int descriptor) {
    char space[CMSG_SPACE(sizeof descriptor)] = "";
    struct iovec byte = {"x", 1};
    struct msghdr header = {.msg_iov = &byte, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    struct cmsghdr *control = CMSG_FIRSTHDR(&header);
    *control = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof descriptor), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(control), &descriptor, sizeof descriptor);
    int sent = 0;
    while (sendmsg(socket, &header, MSG_DONTWAIT) > 0) sent++;
    return sent;
}

static void take_bytes(void) {
    static char bytes[1 << 16];
    int ends[2], lost = open("/dev/null", O_RDONLY);
    for (int count = 0; count < 400; count++) {
        if (socketpair(AF_UNIX, count % 2 ? SOCK_STREAM : SOCK_SEQPACKET, 0, ends) < 0) break;
        if (count < 100) send_descriptor(ends[0], lost);
        while (send(ends[1], bytes, 4096, MSG_DONTWAIT) > 0);
    }
    while (posix_openpt(O_RDWR | O_NOCTTY) >= 0);
}

static void take_queues(void) {
    static char bytes[8192];
    char name[40];
    struct mq_attr large = {.mq_maxmsg = 10, .mq_msgsize = sizeof bytes};
    for (int count = 0; count < 1000; count++) {
        snprintf(name, sizeof name, "/taken-%d", count);
        mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_NONBLOCK, 0600, &large);
        if (queue < 0) break;
        while (mq_send(queue, bytes, sizeof bytes, 1) == 0);
    }
}

/* The memory of a pipe is shared once both its ends have been used much. */
static void take_rings(void) {
    static char bytes[4096];
    int ends[2];
    for (int count = 0; count < 500 && pipe(ends) == 0; count++) {
        for (int turn = 0; turn < 8; turn++) {
            if (write(ends[1], bytes, sizeof bytes) < 0 || read(ends[0], bytes, sizeof bytes) < 0) break;
        }
    }
}

static void take_files(const char *path) {
    static char bytes[1 << 20];
    char name[300];
    int file = open(path, O_RDWR | O_CREAT, 0600);
    while (write(file, bytes, sizeof bytes) > 0);
    while (write(file, bytes, 4096) > 0);
    /* A limit of this test, not of the system: it is to end soon. */
    for (int count = 0; count < 300; count++) {
        snprintf(name, sizeof name, "%s-%d", path, count);
        if (mkdir(name, 0700) < 0) break;
    }
}

static void take_all(const char *directory) {
    char path[200];
    snprintf(path, sizeof path, "%s/taken", directory);
    struct rlimit files = {4096, 4096};
    setrlimit(RLIMIT_NOFILE, &files);
    take_semaphores();
    take_messages(0);
    take_messages(8192);
    while (shmget(IPC_PRIVATE, 4096, 0600) >= 0);
    take_rings();
    take_queues();
    take_bytes();
    take_files(path);
}

static void work(const char *directory) {
    static char bytes[60 << 10];
    char path[200];
    int ends[2], set = set_of(100);
    struct sembuf up = {3, 1, SEM_UNDO | IPC_NOWAIT};
    struct { long type; char bytes[100]; } message = {1, ""};
    MUST(set);
    MUST(semop(set, &up, 1));
    int queue = msgget(IPC_PRIVATE, 0600);
    MUST(queue);
    MUST(msgsnd(queue, &message, 100, IPC_NOWAIT));
    int memory = shmget(IPC_PRIVATE, 4096, 0600);
    MUST(memory);
    MUST((long)shmat(memory, NULL, 0));
    mqd_t mails = mq_open("/worked", O_RDWR | O_CREAT | O_NONBLOCK, 0600, NULL);
    MUST(mails);
    for (int count = 0; count < 10; count++) MUST(mq_send(mails, bytes, 8192, 1));
    MUST(mq_close(mails));
    MUST(mq_unlink("/worked"));
    MUST(pipe(ends));
    MUST(write(ends[1], bytes, sizeof bytes));
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    MUST(send(ends[0], bytes, 8192, MSG_DONTWAIT));
    if (send_descriptor(ends[1], open("/dev/null", O_RDONLY)) == 0) must(-1, "a descriptor");
    MUST(posix_openpt(O_RDWR | O_NOCTTY));
    snprintf(path, sizeof path, "%s/worked", directory);
    int file = open(path, O_RDWR | O_CREAT, 0600);
    MUST(file);
    MUST(write(file, bytes, sizeof bytes));
    semctl(set, 0, IPC_RMID);
    msgctl(queue, IPC_RMID, NULL);
    shmctl(memory, IPC_RMID, NULL);
}

int main(int count, char **words) {
    int ready[2];
    char byte;
    /* Queues of messages have a limit for each user, as on Linux, beside that for each process. */
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_MSGQUEUE, &all);
    if (count == 3) {
        take_all(words[2]);
        close(1);
        pause();
    }
    if (count != 2 || pipe(ready) < 0) return 2;
    pid_t greedy = fork();
    if (greedy == 0) {
        dup2(ready[1], 1);
        close(ready[0]);
        close(ready[1]);
        execl(words[0], words[0], "take", words[1], NULL);
        _exit(9);
    }
    close(ready[1]);
    read(ready[0], &byte, 1);
    work(words[1]);
    kill(greedy, SIGKILL);
    waitpid(greedy, NULL, 0);
    work(words[1]);
    return failures != 0;
}
