/* call: openat; covers: oom_score_adj and oom_adj of /proc: what is written is read back, inherited, and refused out of range; the kernel is not tainted */
#include "check.h"

static void put(const char *file, const char *text)
{
    int descriptor = open(file, O_WRONLY);
    errno = 0;
    long count = write(descriptor, text, strlen(text));
    say("write %s: %ld %s\n", text, count, count < 0 ? strerror(errno) : "");
    close(descriptor);
}

static void show(const char *file)
{
    char text[32] = "";
    int descriptor = open(file, O_RDONLY);
    long count = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    say("%s: %ld bytes, %s", strrchr(file, '/') + 1, count, text);
}

int main(int count, char **words)
{
    const char *score = "/proc/self/oom_score_adj", *old = "/proc/self/oom_adj";
    if (count > 1 && !strcmp(words[1], "again")) {
        show(score);
        return 0;
    }
    show(score);
    show(old);
    show("/proc/sys/kernel/tainted");
    for (const char *const *text = (const char *const[]){"300", "-1000", "1000", " 7\n", "0x10", "1001", "-1001", "", "x", "5 6", "-0", 0}; *text; text++) {
        put(score, *text);
        show(score);
        show(old);
    }
    for (const char *const *text = (const char *const[]){"-17", "15", "-18", "16", "3", "y", 0}; *text; text++) {
        put(old, *text);
        show(score);
        show(old);
    }
    put(score, "-250");
    if (fork() == 0) {
        show(score);
        put(score, "90");
        _exit(0);
    }
    wait(0);
    show(score);
    put(score, "10");
    if (fork() == 0) {
        SHOW(setuid(1000));
        /* Its files in /proc are the superuser's otherwise. */
        SHOW(prctl(PR_SET_DUMPABLE, 1));
        put(score, "500");
        put(score, "20");
        put(score, "9");
        show(score);
        _exit(0);
    }
    wait(0);
    struct stat status;
    SHOW(stat(score, &status));
    say("%o\n", status.st_mode);
    return 0;
}
