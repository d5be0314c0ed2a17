/* call: accept, semop, msgrcv, msgsnd, mq_timedreceive, flock, fcntl; covers: signals that come again and again while something is waited for: nothing is lost, nothing is there twice, and nothing is taken by who was told that he has nothing; also: dynamic */
#include "check.h"

#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

enum { ROUNDS = 60 };

static int listener, set, queue, file;
static mqd_t box;
static volatile sig_atomic_t signals;

static void came(int number)
{
    signals++;
}

/* From now on signals come all the time, at odd moments. */
static void be_disturbed(void)
{
    struct itimerval often = {{0, 170}, {0, 170}};
    handle(SIGALRM, came, 0);
    setitimer(ITIMER_REAL, &often, NULL);
}

static void be_left_alone(void)
{
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
}

/* Lets the other one wait before there is anything, sometimes. */
static void dawdle(int round)
{
    struct timespec little = {0, 1000L * (round * 37 % 400)};
    nanosleep(&little, NULL);
}

static void result(const char *what, int right)
{
    be_left_alone();
    say("%s: %d of %d, and signals came: %s\n", what, right, ROUNDS, signals ? "yes" : "no");
}

static void accept_all(void)
{
    int right = 0;
    be_disturbed();
    for (int round = 0; round < ROUNDS; round++) {
        int number = -1, peer;
        while ((peer = accept(listener, NULL, NULL)) == -1 && errno == EINTR)
            continue;
        while (read(peer, &number, sizeof number) == -1 && errno == EINTR)
            continue;
        close(peer);
        right += number == round;
    }
    result("accept", right);
}

static void connect_all(void)
{
    struct sockaddr_un name = {AF_UNIX, "socket"};
    for (int round = 0; round < ROUNDS; round++) {
        int own = socket(AF_UNIX, SOCK_STREAM, 0);
        dawdle(round);
        if (connect(own, (void *)&name, sizeof name) == -1 || write(own, &round, sizeof round) != sizeof round)
            say("connect: %s\n", error_name(errno));
        close(own);
    }
}

static int semaphore(int number, int by)
{
    struct sembuf one = {number, by, SEM_UNDO};
    return semop(set, &one, 1);
}

static void take_all(void)
{
    int right = 0;
    be_disturbed();
    for (int round = 0; round < ROUNDS; round++) {
        while (semaphore(0, -1) == -1 && errno == EINTR)
            continue;
        /* There never is more than one. */
        right += semctl(set, 0, GETVAL) == 0;
        while (semaphore(1, 1) == -1 && errno == EINTR)
            continue;
    }
    result("semop", right);
}

static void give_all(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        dawdle(round);
        semaphore(0, 1);
        semaphore(1, -1);
    }
}

struct text {
    long kind;
    int number;
};

static void receive_all(void)
{
    int right = 0;
    be_disturbed();
    for (int round = 0; round < ROUNDS; round++) {
        struct text text = {0, -1};
        while (msgrcv(queue, &text, sizeof text.number, 1, 0) == -1 && errno == EINTR)
            continue;
        right += text.number == round;
    }
    result("msgrcv", right);
}

static void send_all(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct text text = {1, round};
        dawdle(round);
        msgsnd(queue, &text, sizeof text.number, 0);
    }
}

static void fill_all(void)
{
    int right = 0;
    be_disturbed();
    for (int round = 0; round < ROUNDS; round++) {
        struct text text = {1, round};
        while (msgsnd(queue, &text, sizeof text.number, 0) == -1 && errno == EINTR)
            continue;
        right++;
    }
    result("msgsnd", right);
}

static void empty_all(void)
{
    int right = 0;
    struct text text;
    for (int round = 0; round < ROUNDS; round++) {
        dawdle(round);
        right += msgrcv(queue, &text, sizeof text.number, 1, 0) == sizeof text.number && text.number == round;
    }
    say("in order: %d\n", right);
}

static void mail_all(void)
{
    int right = 0;
    be_disturbed();
    for (int round = 0; round < ROUNDS; round++) {
        int number = -1;
        while (mq_receive(box, (char *)&number, sizeof number, NULL) == -1 && errno == EINTR)
            continue;
        right += number == round;
    }
    result("mq_receive", right);
}

static void post_all(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        dawdle(round);
        mq_send(box, (char *)&round, sizeof round, 0);
    }
}

/* Locks and unlocks by turns; who was told that he has no lock has none. */
static int lock_all(int (*lock)(int), off_t place)
{
    int right = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int number;
        while (lock(1) == -1 && errno == EINTR)
            continue;
        pread(file, &number, sizeof number, place);
        dawdle(round);
        number++;
        pwrite(file, &number, sizeof number, place);
        lock(0);
        right++;
    }
    return right;
}

static int lock_whole(int on)
{
    return flock(file, on ? LOCK_EX : LOCK_UN);
}

static int lock_part(int on)
{
    struct flock part = {.l_type = on ? F_WRLCK : F_UNLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 4};
    return fcntl(file, F_SETLKW, &part);
}

static void lock_disturbed(void)
{
    file = open("file", O_RDWR);
    be_disturbed();
    result("flock", lock_all(lock_whole, 0));
    be_disturbed();
    result("fcntl", lock_all(lock_part, sizeof(int)));
}


static void lock_quietly(void)
{
    file = open("file", O_RDWR);
    lock_all(lock_whole, 0);
    lock_all(lock_part, sizeof(int));
}

static void both(void (*waiting)(void), void (*doing)(void))
{
    pid_t child = make_child(waiting);
    doing();
    wait_for(child);
}

int main(void)
{
    struct sockaddr_un name = {AF_UNIX, "socket"};
    struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 4};
    struct msqid_ds state;
    int numbers[2] = {0, 0};
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(listener, (void *)&name, sizeof name);
    listen(listener, 4);
    both(accept_all, connect_all);
    set = semget(IPC_PRIVATE, 2, 0600);
    both(take_all, give_all);
    SHOW(semctl(set, 0, GETVAL));
    SHOW(semctl(set, 1, GETVAL));
    semctl(set, 0, IPC_RMID);
    queue = msgget(IPC_PRIVATE, 0600);
    both(receive_all, send_all);
    msgctl(queue, IPC_STAT, &state);
    state.msg_qbytes = 12;
    msgctl(queue, IPC_SET, &state);
    both(fill_all, empty_all);
    msgctl(queue, IPC_STAT, &state);
    say("%ld left\n", (long)state.msg_qnum);
    msgctl(queue, IPC_RMID, NULL);
    box = mq_open("/nacre-cut-off", O_RDWR | O_CREAT, 0600, &attributes);
    both(mail_all, post_all);
    mq_unlink("/nacre-cut-off");
    file = open("file", O_RDWR | O_CREAT, 0600);
    pwrite(file, numbers, sizeof numbers, 0);
    /* The children's files are their own. */
    close(file);
    pid_t child = make_child(lock_disturbed);
    lock_quietly();
    wait_for(child);
    file = open("file", O_RDONLY);
    pread(file, numbers, sizeof numbers, 0);
    say("locked %d and %d times\n", numbers[0], numbers[1]);
    return 0;
}
