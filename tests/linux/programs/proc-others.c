/* call: open, readlink, getdents64, stat; covers: what /proc says of another process: command, state, folder, program, descriptors, environment, limits, memory */
#include "check.h"

static int ends[2];
static char *address, *pieces;

static void child(void)
{
    struct rlimit limit = { 33, 44 };
    char byte;
    close(ends[1]);
    mkdir("below", 0700);
    chdir("below");
    put_file("f", "text");
    dup2(open("f", O_RDWR), 20);
    setrlimit(RLIMIT_NOFILE, &limit);
    prctl(PR_SET_NAME, "other");
    signal(SIGUSR1, SIG_IGN);
    umask(0123);
    mmap(address, 0x3000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    for (int page = 0; page < 200; page += 2)
        mprotect(pieces + page * 0x1000, 0x1000, PROT_READ);
    reach_step(1);
    read(ends[0], &byte, 1);
}

/* The whole of a file below the folder of a process. */
static char *whole(pid_t id, const char *name)
{
    static char text[1 << 16];
    char path[60];
    snprintf(path, sizeof path, "/proc/%d/%s", id, name);
    int file = open(path, O_RDONLY), count, size = 0;
    while ((count = read(file, text + size, sizeof text - 1 - size)) > 0)
        size += count;
    close(file);
    text[size] = 0;
    return text;
}

static void show_line(pid_t id, const char *name, const char *start)
{
    char *line = strstr(whole(id, name), start);
    say("%.*s\n", line == NULL ? 2 : (int)strcspn(line, "\n"), line == NULL ? "no" : line);
}

static void show_link(pid_t id, const char *name)
{
    char path[60], target[300] = "";
    snprintf(path, sizeof path, "/proc/%d/%s", id, name);
    ssize_t size = readlink(path, target, sizeof target - 1);
    char *last = strrchr(target, '/');
    say("%s: %s %s\n", name, size > 0 ? "there" : error_name(errno), last == NULL ? "-" : last);
}

static void count(pid_t id, const char *name)
{
    char path[60];
    int number = 0;
    struct dirent *entry;
    snprintf(path, sizeof path, "/proc/%d/%s", id, name);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        say("%s: %s\n", name, error_name(errno));
        return;
    }
    while ((entry = readdir(folder)) != NULL)
        number += entry->d_name[0] != '.' && (strcmp(name, "fd") != 0 || atoi(entry->d_name) == 20);
    closedir(folder);
    say("%s: %d\n", name, number);
}

static pid_t one;

static void as_other(void)
{
    setuid(1234);
    show_line(one, "status", "Umask:");
    show_line(one, "limits", "Max open files");
    show_link(one, "cwd");
    show_link(one, "fd/20");
    count(one, "fd");
    count(one, "task");
    say("%zu\n", strlen(whole(one, "environ")));
}

int main(void)
{
    char path[60], range[40], text[8] = "";
    struct stat first, second;
    address = mmap(NULL, 0x10000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pieces = mmap(NULL, 200 * 0x1000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pipe(ends);
    begin_steps();
    one = make_child(child);
    await_step(1);
    nap(100);
    say("%s", whole(one, "comm"));
    HOLDS(strcmp(whole(one, "cmdline"), self) != 0);
    show_line(one, "limits", "Max open files");
    show_line(one, "status", "Umask:");
    show_line(one, "status", "State:");
    show_line(one, "status", "SigIgn:");
    show_link(one, "cwd");
    show_link(one, "fd/20");
    show_link(one, "fd/21");
    count(one, "fd");
    count(one, "task");
    snprintf(range, sizeof range, "%lx-%lx r--p", (long)address, (long)address + 0x3000);
    HOLDS(strstr(whole(one, "maps"), range) != NULL);
    int missing = 0;
    char *all = whole(one, "maps");
    for (int page = 0; page < 200; page += 2) {
        snprintf(range, sizeof range, "%lx-%lx r--p", (long)pieces + page * 0x1000, (long)pieces + (page + 1) * 0x1000);
        missing += strstr(all, range) == NULL;
    }
    say("%d missing\n", missing);
    snprintf(path, sizeof path, "/proc/%d/exe", one);
    SHOW(stat(path, &first));
    SHOW(stat("/proc/self/exe", &second));
    HOLDS(first.st_ino == second.st_ino);
    snprintf(path, sizeof path, "/proc/%d/fd/20", one);
    SHOW(stat(path, &first));
    SHOW(stat("below/f", &second));
    HOLDS(first.st_ino == second.st_ino);
    int file = open(path, O_RDONLY);
    SHOW(read(file, text, 4));
    say("%s\n", text);
    snprintf(path, sizeof path, "/proc/%d/cwd/f", one);
    SHOW(access(path, R_OK));
    snprintf(path, sizeof path, "/proc/%d/fd/%d", one, ends[0]);
    SHOW(stat(path, &first));
    say("%o\n", first.st_mode & S_IFMT);
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", one, one);
    SHOW(access(path, R_OK));
    snprintf(path, sizeof path, "/proc/%d/task/1", one);
    SHOW(access(path, R_OK));
    in_child(as_other);
    kill(one, SIGSTOP);
    nap(50);
    show_line(one, "status", "State:");
    kill(one, SIGCONT);
    close(ends[1]);
    nap(100);
    show_line(one, "status", "State:");
    say("%zu\n", strlen(whole(one, "cmdline")));
    wait_for(one);
    return 0;
}
