/* One thing that crosses the machine's boundary, or a program that does: `outside WHAT ROW ...` prints
   `measure ROW NANOSECONDS BYTES`, or `unmeasured ROW: WHY`. The same file runs on Linux and on Nacre. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 64 << 10, SMALL = 1024 };

static const char *row;
static char piece[PIECE];

/* Ends a row that does not work. */
static void need(int holds, const char *what)
{
    if (holds)
        return;
    printf("unmeasured %s: %s: %s\n", row, what, strerror(errno));
    exit(1);
}

static unsigned long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static void tell(unsigned long long begun, unsigned long long bytes)
{
    printf("measure %s %llu %llu\n", row, now() - begun, bytes);
}

static void write_all(int to, size_t size)
{
    while (size > 0) {
        ssize_t done = write(to, piece, size < PIECE ? size : PIECE);
        need(done > 0, "write");
        size -= done;
    }
}

static unsigned long long read_all(int from)
{
    unsigned long long bytes = 0;
    ssize_t done;
    while ((done = read(from, piece, PIECE)) > 0)
        bytes += done;
    need(done == 0, "read");
    return bytes;
}

static void read_file(const char *path)
{
    unsigned long long begun = now();
    int file = open(path, O_RDONLY);
    need(file >= 0, path);
    tell(begun, read_all(file));
}

/* A new file, on the disk before the clock stops. */
static void write_file(const char *path, size_t size)
{
    unsigned long long begun = now();
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    need(file >= 0, path);
    write_all(file, size);
    need(fsync(file) == 0, "fsync");
    tell(begun, size);
}

/* `count` small files made, asked for, and removed. */
static void make_files(const char *folder, size_t count)
{
    char path[256];
    need(mkdir(folder, 0755) == 0, folder);
    unsigned long long begun = now();
    for (size_t number = 0; number < count; number++) {
        struct stat status;
        snprintf(path, sizeof path, "%s/%zu", folder, number);
        int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
        need(file >= 0, path);
        write_all(file, SMALL);
        close(file);
        need(stat(path, &status) == 0 && status.st_size == SMALL, "stat");
    }
    for (size_t number = 0; number < count; number++) {
        snprintf(path, sizeof path, "%s/%zu", folder, number);
        need(unlink(path) == 0, "unlink");
    }
    tell(begun, count * SMALL);
    rmdir(folder);
}

/* A connection to the host, whose first byte says what is wanted of it. */
static int reach(const char *address, const char *port, char wanted)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
    int one = 1, socket_ = socket(AF_INET, SOCK_STREAM, 0);
    inet_aton(address, &to.sin_addr);
    need(socket_ >= 0 && connect(socket_, (struct sockaddr *)&to, sizeof to) == 0, "connect");
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    need(write(socket_, &wanted, 1) == 1, "write");
    return socket_;
}

static void send_bytes(int connection, size_t size)
{
    unsigned long long begun = now();
    write_all(connection, size);
    shutdown(connection, SHUT_WR);
    need(read(connection, piece, 1) == 1, "the host's answer");
    tell(begun, size);
}

static void receive_bytes(int connection, size_t size)
{
    unsigned long long begun = now();
    need(write(connection, &size, sizeof size) == sizeof size, "write");
    unsigned long long bytes = read_all(connection);
    need(bytes == size, "all bytes");
    tell(begun, bytes);
}

/* Each byte goes there and back before the next one. The figure is that of one. */
static void echo(int connection, size_t count)
{
    unsigned long long begun = now();
    for (size_t number = 0; number < count; number++)
        need(write(connection, "x", 1) == 1 && read(connection, piece, 1) == 1, "echo");
    printf("measure %s %llu 0\n", row, (now() - begun) / count);
}

static void run(char **command)
{
    int status = 1;
    unsigned long long begun = now();
    pid_t child = fork();
    if (child == 0) {
        execvp(command[0], command);
        _exit(127);
    }
    need(child > 0 && waitpid(child, &status, 0) == child, "a child");
    errno = 0;
    need(status == 0, "the program failed");
    tell(begun, 0);
}

int main(int argc, char **words)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *what = argc > 1 ? words[1] : "";
    row = argc > 2 ? words[2] : "";
    if (!strcmp(what, "end")) {
        /* Linux ends with its machine, by the port that the host has for it; Nacre by this program's end. */
        execl("/mnt/port-program", "port", "244", "0", NULL);
        return 0;
    }
    need(argc > 3, "no such row");
    if (!strcmp(what, "read"))
        read_file(words[3]);
    else if (!strcmp(what, "run"))
        run(words + 3);
    else if (!strcmp(what, "write") && argc > 4)
        write_file(words[3], strtoull(words[4], NULL, 0));
    else if (!strcmp(what, "files") && argc > 4)
        make_files(words[3], strtoull(words[4], NULL, 0));
    else if (!strcmp(what, "send") && argc > 5)
        send_bytes(reach(words[3], words[4], 's'), strtoull(words[5], NULL, 0));
    else if (!strcmp(what, "receive") && argc > 5)
        receive_bytes(reach(words[3], words[4], 'g'), strtoull(words[5], NULL, 0));
    else if (!strcmp(what, "echo") && argc > 5)
        echo(reach(words[3], words[4], 'e'), strtoull(words[5], NULL, 0));
    else
        need(0, "no such row");
    return 0;
}
