/* call: splice, vmsplice; covers: files to pipes to sockets and back, pages given to pipes, more than a pipe has room for */
#include "check.h"

#define SIZE (1 << 17)
static char data[SIZE] __attribute__((aligned(4096))), back[SIZE];

static long drain(int from, long size)
{
    long done = 0;
    while (done < size) {
        long count = read(from, back + done, size - done);
        if (count <= 0)
            break;
        done += count;
    }
    return done;
}

int main(void)
{
    alarm(30);
    int pipes[2], sockets[2];
    for (int i = 0; i < SIZE; i++)
        data[i] = i * 7;
    int file = open("file", O_RDWR | O_CREAT, 0644);
    SHOW(write(file, data, SIZE));
    SHOW(pipe(pipes));
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));

    /* More than the pipe has room for: what fits goes. */
    struct iovec pieces[2] = {{data, SIZE}, {data, 10}};
    SHOW(vmsplice(pipes[1], pieces, 1, 0));
    SHOW(vmsplice(pipes[1], pieces, 1, SPLICE_F_NONBLOCK));
    HOLDS(drain(pipes[0], 65536) == 65536 && !memcmp(data, back, 65536));
    pieces[0].iov_len = 100;
    SHOW(vmsplice(pipes[1], pieces, 2, SPLICE_F_GIFT));
    HOLDS(drain(pipes[0], 110) == 110 && !memcmp(data, back, 100));
    SHOW(vmsplice(pipes[1], pieces, 0, 0));
    SHOW(vmsplice(file, pieces, 1, 0));
    SHOW(vmsplice(pipes[1], pieces, 1, 0x100));
    SHOW(vmsplice(pipes[1], (struct iovec *)8, 1, 0));
    SHOW(write(pipes[1], data, 30));
    pieces[0] = (struct iovec){back, 20};
    SHOW(vmsplice(pipes[0], pieces, 1, 0));
    SHOW(drain(pipes[0], 10));

    /* A file through a pipe into a socket. */
    for (int step = 0; step < 4; step++) {
        loff_t at = step * 30000;
        long count = splice(file, &at, pipes[1], 0, 30000, SPLICE_F_MORE);
        say("into the pipe: %ld, at %ld\n", count, (long)at);
        SHOW(splice(pipes[0], 0, sockets[0], 0, 30000, 0));
        HOLDS(drain(sockets[1], 30000) == 30000 && !memcmp(data + step * 30000, back, 30000));
    }
    SHOW(splice(file, 0, sockets[0], 0, 100, 0));
    /* Out of a socket into a pipe and a file. */
    SHOW(write(sockets[1], data, 5000));
    SHOW(splice(sockets[0], 0, pipes[1], 0, 8000, 0));
    loff_t at = 100;
    SHOW(splice(pipes[0], 0, file, &at, 8000, 0));
    say("%ld\n", (long)at);
    SHOW(pread(file, back, 5000, 100));
    HOLDS(!memcmp(back, data, 5000));
    SHOW(fcntl(sockets[0], F_SETFL, O_NONBLOCK));
    SHOW(splice(sockets[0], 0, pipes[1], 0, 10, SPLICE_F_NONBLOCK));
    SHOW(close(sockets[1]));
    SHOW(splice(sockets[0], 0, pipes[1], 0, 10, 0));
    SHOW(sendfile(pipes[1], file, 0, 10));
    return 0;
}
