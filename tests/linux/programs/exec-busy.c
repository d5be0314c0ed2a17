/* call: execve, open, truncate; covers: ETXTBSY: files that are run and written; also: dynamic */
#include "check.h"

static int gate[2];

/* A copy of this program under another name, and the descriptor that it was written through. */
static int copy(const char *name)
{
    char part[4096];
    int from = open(self, O_RDONLY), to = open(name, O_CREAT | O_RDWR | O_TRUNC, 0755);
    ssize_t size;
    while ((size = read(from, part, sizeof part)) > 0)
        if (write(to, part, size) != size)
            _exit(1);
    close(from);
    return to;
}

/* Runs the copy, which waits until the gate is closed. */
static pid_t start(const char *name)
{
    char end[8];
    pipe(gate);
    unlink("runs");
    pid_t child = fork();
    if (child == 0) {
        close(gate[1]);
        snprintf(end, sizeof end, "%d", gate[0]);
        execl(name, name, program, end, NULL);
        show_result("execl", errno);
        _exit(9);
    }
    close(gate[0]);
    while (access("runs", F_OK) != 0)
        nap(1);
    return child;
}

static void end(pid_t child)
{
    close(gate[1]);
    wait_for(child);
}

static void try_to_run(const char *name)
{
    pid_t child = fork();
    if (child == 0) {
        execl(name, name, program, "-1", NULL);
        say("%s: %s\n", name, strerror(errno));
        _exit(9);
    }
    wait_for(child);
}

int main(int count, char **words)
{
    char byte, *none[] = {NULL};
    if (count > 1) {
        /* A child of the one that runs keeps the file, too. */
        if (words[1][0] == 'f' && fork())
            _exit(0);
        if (atoi(words[count - 1]) >= 0)
            put_file("runs", "");
        read(atoi(words[count - 1]), &byte, 1);
        return 0;
    }
    int fd = copy("copy");
    try_to_run("copy");
    void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    try_to_run("copy");
    munmap(shared, 4096);
    try_to_run("copy");

    pid_t child = start("copy");
    SHOW(open("copy", O_WRONLY));
    SHOW(open("copy", O_RDWR));
    SHOW(open("copy", O_RDONLY | O_TRUNC));
    SHOW(open("copy", O_WRONLY | O_CREAT | O_EXCL, 0755));
    SHOW(truncate("copy", 1));
    SHOW(creat("copy", 0755));
    SHOW((fd = open("copy", O_RDONLY)) > 2);
    SHOW(ftruncate(fd, 1));
    SHOW(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) != MAP_FAILED);
    SHOW(close(fd));
    SHOW((fd = open("copy", O_PATH | O_RDWR)) > 2);
    SHOW(close(fd));
    SHOW(chmod("copy", 0700));
    SHOW(link("copy", "second"));
    SHOW(open("second", O_WRONLY));
    SHOW(rename("copy", "third"));
    SHOW(open("third", O_WRONLY));
    SHOW(unlink("third"));
    SHOW(truncate("second", 1));
    end(child);
    SHOW((fd = open("second", O_RDWR)) > 2);
    try_to_run("second");
    int reader = open("second", O_RDONLY);
    child = fork();
    if (child == 0) {
        char *arguments[] = {"second", program, "-1", NULL};
        SHOW(syscall(SYS_execveat, reader, "", arguments, none, AT_EMPTY_PATH));
        _exit(9);
    }
    wait_for(child);
    close(fd);
    close(reader);

    /* A script is held only until its interpreter runs; what is written cannot be run. */
    fd = open("script", O_CREAT | O_WRONLY, 0755);
    dprintf(fd, "#!%s %s\n", "/nowhere/at/all", program);
    try_to_run("script");
    close(fd);
    try_to_run("script");
    SHOW(truncate("script", 0));

    /* A file without a name can be run through the descriptor that it was written through. */
    int memory = memfd_create("m", 0), from = open("second", O_RDONLY);
    for (ssize_t size; (size = sendfile(memory, from, NULL, 1 << 20)) > 0;)
        ;
    child = fork();
    if (child == 0) {
        char *arguments[] = {"m", program, "-1", NULL};
        syscall(SYS_execveat, memory, "", arguments, none, AT_EMPTY_PATH);
        say("memory: %s\n", strerror(errno));
        _exit(9);
    }
    wait_for(child);
    return 0;
}
