// Two processes on pipes that one of them polls, several at a time, while the other writes at moments that come ever later after the question:
// `polled ROUNDS` ends with 0 if no byte is missed. One that was told of too early would be waited for without end.
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIPES = 3 };

static int there[2], back[PIPES][2];

// Answers at one of the pipes, after a while that grows from round to round and begins again.
static void answer(void) {
    char byte;
    for (unsigned round = 0; read(there[0], &byte, 1) == 1; round++) {
        for (volatile unsigned spin = 0; spin < round * 131 % 20011; spin++) continue;
        if (write(back[round % PIPES][1], &byte, 1) != 1) _exit(2);
    }
    _exit(0);
}

int main(int count, char **words) {
    struct pollfd files[PIPES];
    char byte = 0;
    if (count < 2 || pipe(there) != 0) return 2;
    for (int number = 0; number < PIPES; number++) {
        if (pipe(back[number]) != 0) return 2;
        files[number] = (struct pollfd){back[number][0], POLLIN, 0};
    }
    pid_t child = fork();
    if (child == 0) close(there[1]), answer();
    close(there[0]);
    for (int round = 0; round < atoi(words[1]); round++) {
        if (write(there[1], &byte, 1) != 1 || poll(files, PIPES, -1) != 1) return 3;
        if (!(files[round % PIPES].revents & POLLIN) || read(back[round % PIPES][0], &byte, 1) != 1) return 4;
    }
    close(there[1]);
    int status = 1;
    waitpid(child, &status, 0);
    return status != 0;
}
