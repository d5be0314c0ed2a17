/* call: execve, execveat, readlink, open; covers: the path of the running program, whatever it was called by; also: musl dynamic */
#include "check.h"

static void enter(const char *what)
{
    char *words[] = {"anything", program, (char *)what, NULL}, *none[] = {NULL};
    if (strcmp(what, "by directory") == 0)
        syscall(SYS_execveat, open("d", O_RDONLY | O_DIRECTORY), "../d/link", words, none, 0);
    else if (strcmp(what, "by descriptor") == 0)
        syscall(SYS_execveat, open("d/link", O_RDONLY), "", words, none, AT_EMPTY_PATH);
    else
        execve(what, words, none);
    say("%s: %s\n", what, error_name(errno));
}

static void run(const char *what)
{
    pid_t child = fork();
    if (child == 0) {
        enter(what);
        _exit(1);
    }
    wait_for(child);
}

int main(int count, char **words)
{
    char path[PATH_MAX] = "", other[PATH_MAX] = "";
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    if (count > 1) {
        char *expected = getenv("NOT THERE");
        int fd = open("/proc/self/exe", O_RDONLY);
        struct stat own, named;
        say("%s: %s %s\n", words[1], path[0] == '/' ? "absolute" : path, expected ? expected : "");
        fstat(fd, &own);
        stat(path, &named);
        HOLDS(own.st_ino == named.st_ino);
        snprintf(other, sizeof other, "/proc/self/fd/%d", fd);
        size = readlink(other, other, sizeof other - 1);
        HOLDS(size > 0 && strstr(path, "link") == NULL && strstr(other, "link") == NULL && strstr(path, "..") == NULL);
        return 0;
    }
    HOLDS(size > 0);
    mkdir("d", 0755);
    symlink(path, "d/link");
    symlink("d/link", "second");
    chdir("d");
    run("./link");
    run("link");
    run("../second");
    run("../d/../second");
    run(path);
    run("/proc/self/exe");
    chdir("..");
    run("by directory");
    run("by descriptor");
    return 0;
}
