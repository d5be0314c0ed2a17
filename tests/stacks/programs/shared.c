// Two programs below guards of their own share memory: `shared COMMAND...` runs COMMAND, such as a
// guard, twice. One sends the other a memfd through the socket that is its standard input. They
// take turns at a word of it, and wake each other. Then the first guard is killed while the second
// program goes on: it ends by itself, or for want of the memory.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURNS 60
#define SIZE (1 << 16)

static int send_file(int file) {
    char byte = 1, room[CMSG_SPACE(sizeof file)] = {0};
    struct iovec one = {&byte, 1};
    struct msghdr message = {.msg_iov = &one, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(header), &file, sizeof file);
    return sendmsg(0, &message, 0) == 1 ? 0 : -1;
}

static int receive_file(void) {
    char byte, room[CMSG_SPACE(sizeof(int))];
    int file;
    struct iovec one = {&byte, 1};
    struct msghdr message = {.msg_iov = &one, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    if (recvmsg(0, &message, 0) != 1 || !CMSG_FIRSTHDR(&message)) return -1;
    memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
    return file;
}

// Takes each second turn: waits until the word says that it is this one's.
static void take_turns(volatile unsigned *word, unsigned own) {
    for (unsigned turn = own; turn < TURNS; turn += 2) {
        for (unsigned now; (now = *word) != turn;) syscall(SYS_futex, word, FUTEX_WAIT, now, 0);
        *word = turn + 1;
        syscall(SYS_futex, word, FUTEX_WAKE, 1);
    }
}

static int play(int is_first) {
    int file = is_first ? memfd_create("shared", 0) : receive_file();
    if (file < 0 || (is_first && (ftruncate(file, SIZE) || send_file(file)))) return 10;
    volatile unsigned *word = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (word == MAP_FAILED) return 11;
    take_turns(word, !is_first);
    char byte = 1;
    if (write(0, &byte, 1) != 1) return 12;
    if (is_first) pause();
    for (int round = 0; round < 200; round++) {
        word[round % (SIZE / 4)] = round;
        syscall(SYS_futex, word, FUTEX_WAKE, 1);
        usleep(1000);
    }
    return 0;
}

static pid_t start(int end, int other, char **command, int count, char *self, char *role) {
    pid_t child = fork();
    if (child != 0) return child;
    char *all[40] = {0};
    memcpy(all, command, count * sizeof *all);
    all[count] = self, all[count + 1] = role;
    dup2(end, 0), close(end), close(other);
    execvp(all[0], all);
    _exit(126);
}

// Plays, and tells the process that started both if that did not work.
static int play_or_tell(int is_first) {
    char result = play(is_first);
    if (result != 0 && write(0, &result, 1) != 1) return 1;
    return result;
}

// Waits until both have told that they are through. Returns the code of the second if it failed.
// The end of the second is read first: until it is through, what comes out at the other is its own.
static int await_both(const int ends[2]) {
    char second = 0, first = 0;
    if (read(ends[0], &second, 1) != 1 || second != 1) return second ? second : 1;
    return read(ends[1], &first, 1) == 1 && first == 1 ? 0 : 1;
}

int main(int count, char **words) {
    if (count == 2 && words[1][0] == '=') return play_or_tell(words[1][1] == '1');
    int ends[2], status = 0;
    if (count > 36 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 1;
    pid_t first = start(ends[0], ends[1], words + 1, count - 1, words[0], "=1");
    pid_t second = start(ends[1], ends[0], words + 1, count - 1, words[0], "=2");
    int failed = await_both(ends);
    if (failed) {
        kill(first, SIGKILL), kill(second, SIGKILL);
        printf("one failed: %d\n", failed);
        return 0;
    }
    kill(first, SIGKILL);
    waitpid(first, &status, 0);
    printf("the first: %s\n", WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? "killed" : "another end");
    waitpid(second, &status, 0);
    int is_lost = (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) || (WIFEXITED(status) && WEXITSTATUS(status) > 128);
    printf("the second: %s\n", status == 0 || is_lost ? "ended" : "another end");
    return 0;
}
