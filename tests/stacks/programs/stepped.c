// Runs a command once for each number in a range; `%` in a word is the number. `stepped refused FROM TO COMMAND` ends with 0 if no run panicked, died
// of a signal, or hung, and all memory, processes and threads came back. An error is no fault, since the command is made to fail. `stepped killed`
// is for commands that are made to end by SIGKILL.
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "counts.h"

#define LATE 60       // Seconds after which a run hangs.
#define PASSES 4      // Times that it looks for what runs lose.
#define PANICKED 101  // Status of a native program that panicked.

static char *numbered(const char *word, int number) {
    char *text = malloc(strlen(word) + 16), *at = text;
    for (; *word; word++) {
        if (*word == '%') at += sprintf(at, "%d", number);
        else *at++ = *word;
    }
    *at = 0;
    return text;
}

static void reap(void) {
    while (waitpid(-1, 0, WNOHANG) > 0) {}
}

// Runs the command, and kills it if it hangs: its status, or -1.
static int run(char **words, int number) {
    pid_t child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        char *own[64] = {0};
        for (int word = 0; words[word] && word < 63; word++) own[word] = numbered(words[word], number);
        int out = open("/tmp/stepped-output", O_RDWR | O_CREAT | O_TRUNC, 0600);
        dup2(out, 1), dup2(out, 2);
        setpgid(0, 0);
        execvp(own[0], own);
        _exit(126);
    }
    int status;
    for (int turn = 0; turn < LATE * 1000; turn++) {
        if (waitpid(child, &status, WNOHANG) == child) return status;
        usleep(1000);
    }
    kill(-child, SIGKILL), kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -1;
}

// A native program that panics for lack of memory ends by SIGKILL.
static int fails(int status, int is_killed) {
    if (status == -1) return 1;
    if (WIFSIGNALED(status)) return WTERMSIG(status) != SIGKILL || !is_killed;
    int code = WEXITSTATUS(status);
    return code == PANICKED || (code > 128 && (code != 128 + SIGKILL || !is_killed));
}

static void show_output(void) {
    char text[2048];
    int file = open("/tmp/stepped-output", O_RDONLY);
    ssize_t size = read(file, text, sizeof text);
    if (size > 0) fwrite(text, 1, size, stdout);
    close(file);
}

int main(int count, char **words) {
    if (count < 5) return 2;
    int is_killed = strcmp(words[1], "killed") == 0, from = atoi(words[2]), to = atoi(words[3]), bad = 0;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int turn = 0; turn < WARM; turn++) run(words + 4, to + turn), reap();
    // Tables may reach their sizes only now, each of them once. What a run loses it loses each time.
    for (int pass = 0; pass < PASSES; pass++) {
        usleep(100000), reap(), count_before();
        for (int number = from; number <= to; number++) {
            int status = run(words + 4, number);
            reap();
            if (!fails(status, is_killed)) continue;
            printf("number %d: status %x\n", number, status);
            show_output();
            bad = 1;
        }
        if (bad || pass + 1 == PASSES) return count_after(reap) | bad;
        if (await_all(reap) == 0) return 0;
    }
}
