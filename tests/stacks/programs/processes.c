// fork, exec and wait in their forms: what a child sees of its parent, what the parent sees of its end.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static int global = 5;

static int status_of(pid_t child) {
    int status = -1;
    if (waitpid(child, &status, 0) != child) printf("waitpid: %s\n", strerror(errno));
    return status;
}

static void memory(void) {
    int *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *large = malloc(300000);
    char *closed = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    double number = 1.5;
    memset(large, 3, 300000);
    closed[0] = 7;
    mprotect(closed, 4096, PROT_NONE);
    pid_t child = fork();
    if (child == 0) {
        mprotect(closed, 4096, PROT_READ);
        printf("child: %d %d %f %d\n", global, large[299999], number * 2, closed[0]);
        global = 6;
        large[5] = 9;
        *shared = 77;
        _exit(getppid() == getpid());
    }
    int status = status_of(child);
    printf("status %x, global %d, large %d, shared %d\n", status, global, large[5], *shared);
}

static void descriptors(const char *path) {
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    int kept = fcntl(file, F_DUPFD, 20), closed = fcntl(file, F_DUPFD_CLOEXEC, 30);
    pid_t child = fork();
    if (child == 0) {
        printf("child: write %zd\n", write(kept, "child", 5));
        execl("/proc/self/exe", "processes", "open", "20", "30", (char *)0);
        _exit(1);
    }
    int status = status_of(child);
    printf("position %ld, status %x, flags %d %d\n", (long)lseek(file, 0, SEEK_CUR), status, fcntl(kept, F_GETFD), fcntl(closed, F_GETFD));
    unlink(path);
}

static void ends(void) {
    int status;
    pid_t child = fork();
    if (child == 0) exit(42);
    status = status_of(child);
    printf("exited %d %d\n", WIFEXITED(status), WEXITSTATUS(status));
    child = fork();
    if (child == 0) *(volatile int *)8 = 1;
    status = status_of(child);
    printf("signalled %d %d\n", WIFSIGNALED(status), WTERMSIG(status));
    printf("none left: %d %d\n", (int)wait(&status), errno == ECHILD);
    siginfo_t info;
    memset(&info, 0, sizeof info);
    child = fork();
    if (child == 0) _exit(3);
    int result = waitid(P_PID, child, &info, WEXITED);
    printf("waitid %d: %d %d %d\n", result, info.si_pid == child, info.si_status, info.si_code == CLD_EXITED);
    for (int n = 0; n < 5; n++)
        if ((child = fork()) == 0) _exit(n);
    int sum = 0;
    while (wait(&status) > 0) sum += WEXITSTATUS(status);
    printf("sum %d\n", sum);
}

static void programs(void) {
    char *arguments[] = {"sh", "-c", "echo $0 $1 $#", "a b", "c", 0};
    pid_t child;
    int result = posix_spawn(&child, "/bin/sh", 0, 0, arguments, environ);
    printf("spawn %d status %x\n", result, status_of(child));
    child = vfork();
    if (child == 0) {
        execl("/nonesuch", "x", (char *)0);
        _exit(errno == ENOENT ? 9 : 1);
    }
    printf("vfork %x\n", status_of(child));
    child = fork();
    if (child == 0) {
        char *long_argument = malloc(200000);
        memset(long_argument, 'x', 199999);
        long_argument[199999] = 0;
        execl("/bin/sh", "sh", long_argument, (char *)0);
        _exit(errno == E2BIG ? 8 : 1);
    }
    printf("too long %x\n", status_of(child));
    execl("/tmp", "x", (char *)0);
    printf("directory %d\n", errno == EACCES);
    signal(SIGUSR1, SIG_IGN);
    child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "kill -USR1 $$; echo still here", (char *)0);
        _exit(1);
    }
    printf("ignored %x\n", status_of(child));
}

int main(int count, char **arguments) {
    setvbuf(stdout, 0, _IONBF, 0);
    if (count == 4) {
        printf("after exec: %d %d, %zd\n", fcntl(atoi(arguments[2]), F_GETFD), fcntl(atoi(arguments[3]), F_GETFD), write(20, "more", 4));
        return 6;
    }
    memory();
    descriptors(count > 1 ? arguments[1] : "/tmp/processes");
    ends();
    programs();
    return 0;
}
