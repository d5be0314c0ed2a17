/* Makes attributes, FIFOs, sockets and devices in a directory (`make`), or finds them there (`find`). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static char value[5000], names[5000];

static void show(const char *what, long result)
{
    if (result < 0)
        printf("%s: %s\n", what, strerror(errno));
    else
        printf("%s: %ld\n", what, result);
    fflush(stdout);
}

#define SHOW(call) show(#call, (long)(call))

static void through(void)
{
    if (fork() == 0) {
        int out = open("fifo", O_WRONLY);
        _exit(write(out, "through", 7) != 7);
    }
    int in = open("fifo", O_RDONLY);
    SHOW(read(in, value, 7));
    wait(NULL);
}

static int at_socket(int (*call)(int, const struct sockaddr *, socklen_t))
{
    struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "socket" };
    return call(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&name, sizeof name);
}

static int kind(const char *name)
{
    struct stat found;
    return lstat(name, &found) ? -1 : (int)(found.st_mode >> 12);
}

static void make(void)
{
    memset(value, 'v', sizeof value);
    SHOW(mkdir("folder", 0755));
    SHOW(close(open("file", O_CREAT | O_WRONLY, 0644)));
    SHOW(setxattr("file", "user.small", "1", 1, XATTR_CREATE));
    SHOW(setxattr("file", "user.long", value, 700, 0));
    SHOW(setxattr("file", "user.huge", value, 5000, 0));
    SHOW(setxattr("file", "user.gone", "1", 1, 0));
    SHOW(removexattr("file", "user.gone"));
    SHOW(setxattr("folder", "user.of.folder", "12", 2, 0));
    SHOW(mkfifo("fifo", 0644));
    SHOW(mknod("null", S_IFCHR | 0666, makedev(1, 3)));
    SHOW(at_socket(bind));
}

static void find(void)
{
    memset(value, 0, sizeof value);
    SHOW(getxattr("file", "user.small", value, sizeof value));
    SHOW(getxattr("file", "user.long", value, sizeof value));
    SHOW(value[699] == 'v');
    SHOW(listxattr("file", names, sizeof names));
    SHOW(lgetxattr("folder", "user.of.folder", value, sizeof value));
    SHOW(kind("fifo"));
    SHOW(kind("null"));
    SHOW(kind("socket"));
    SHOW(write(open("null", O_WRONLY), "x", 1));
    SHOW(at_socket(connect));
    SHOW(at_socket(bind));
}

int main(int count, char **words)
{
    if (count != 3 || chdir(words[2]))
        return 1;
    if (!strcmp(words[1], "make"))
        make();
    find();
    through();
    return 0;
}
