/* The first process of the Linux that the programs are compared with: runs what /tests/list names, one after the other, and tells where each begins and how it ends. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* A guard against hanging. */
enum { SECONDS = 20 };

static void make_file_systems(void)
{
    mount("proc", "/proc", "proc", 0, "");
    mount("dev", "/dev", "devtmpfs", 0, "");
    mkdir("/dev/pts", 0755);
    mkdir("/dev/shm", 01777);
    mount("pts", "/dev/pts", "devpts", 0, "ptmxmode=0666,gid=5,mode=620");
    mount("shm", "/dev/shm", "tmpfs", 0, "");
    mount("tmp", "/tmp", "tmpfs", 0, "mode=1777");
}

static void raise_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    ioctl(fd, SIOCSIFFLAGS, &request);
    close(fd);
}

/* Waits for the child; a status of -1 says that it took too long. */
static int await(pid_t child)
{
    sigset_t set;
    struct timespec limit = {SECONDS, 0};
    int status = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (;;) {
        pid_t found = waitpid(-1, &status, WNOHANG);
        if (found == child)
            return status;
        if (found <= 0 && sigtimedwait(&set, NULL, &limit) == -1)
            return -1;
    }
}

static void kill_all(void)
{
    kill(-1, SIGKILL);
    while (wait(NULL) > 0)
        continue;
}

static void start(const char *file, const char *name)
{
    sigset_t none;
    int in = open("/dev/null", O_RDONLY), out = open("/output", O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    dup2(in, 0), dup2(out, 1), dup2(out, 2);
    close(in), close(out);
    chdir("/tmp");
    execl(file, file, name, (char *)NULL);
    _exit(126);
}

static void copy_output(void)
{
    static char text[65536];
    int fd = open("/output", O_RDONLY);
    for (ssize_t size; (size = read(fd, text, sizeof text)) > 0;)
        fwrite(text, size, 1, stdout);
    close(fd);
}

static void run(const char *file, const char *name)
{
    printf("begin %s %s\n", name, file);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        start(file, name);
    int status = await(child);
    kill_all();
    copy_output();
    if (status == -1)
        printf("\nend %s %s hangs\n", name, file);
    else if (WIFSIGNALED(status))
        printf("\nend %s %s killed %d\n", name, file, WTERMSIG(status));
    else
        printf("\nend %s %s exited %d\n", name, file, WEXITSTATUS(status));
    fflush(stdout);
}

int main(void)
{
    sigset_t set;
    char file[200], name[200];
    make_file_systems();
    raise_loopback();
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    setenv("PATH", "/bin", 1);
    FILE *list = fopen("/tests/list", "re");
    while (list && fscanf(list, "%199s %199s", file, name) == 2)
        run(file, name);
    puts("all done");
    fflush(stdout);
    /* What the line has not sent yet would be lost. */
    tcdrain(STDOUT_FILENO);
    reboot(RB_AUTOBOOT);
}
