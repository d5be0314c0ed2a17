/* call: sendmsg, recvmsg; covers: descriptors and credentials between the bytes of a stream that is used often; also: musl */
#include "check.h"

static int pair[2];

static void use(int times)
{
    char byte = 0;
    int wrong = 0;
    for (int i = 0; i < times; i++) {
        wrong += write(pair[0], "a", 1) != 1 || read(pair[1], &byte, 1) != 1 || byte != 'a';
        wrong += write(pair[1], "b", 1) != 1 || read(pair[0], &byte, 1) != 1 || byte != 'b';
    }
    say("wrong: %d\n", wrong);
}

static void pass(const char *text, int fd)
{
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control = {0};
    struct iovec piece = {(char *)text, strlen(text)};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    SHOW(sendmsg(pair[0], &message, 0));
}

/* Receives; shows the bytes and what came beside them, and writes a byte to a descriptor that came. */
static void get(size_t room, int flags)
{
    union { char bytes[200]; struct cmsghdr align; } control = {0};
    char text[40] = "";
    struct iovec piece = {text, room};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    SHOW(recvmsg(pair[1], &message, flags));
    say("  %s, flags %x\n", text, message.msg_flags);
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        int fd;
        struct ucred who;
        if (header->cmsg_type == SCM_RIGHTS) {
            memcpy(&fd, CMSG_DATA(header), sizeof fd);
            say("  a descriptor, through which %ld\n", (long)write(fd, "!", 1));
            close(fd);
        } else if (header->cmsg_type == SCM_CREDENTIALS) {
            memcpy(&who, CMSG_DATA(header), sizeof who);
            say("  from %s, user %d\n", who.pid == getpid() ? "us" : who.pid == 0 ? "nobody" : "another", (int)who.uid);
        }
    }
}

int main(void)
{
    int ends[2], on = 1, off = 0;
    char text[9] = "";
    pipe(ends);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    for (int times = 10; times <= 160; times *= 4) {
        use(times);
        write(pair[0], "before", 6);
        pass("with", ends[1]);
        write(pair[0], "after", 5);
        get(3, 0);
        get(39, 0);
        get(39, 0);
        use(times);
        pass("lost", ends[1]);
        SHOW(read(pair[1], text, 9));
        pass("first", ends[1]);
        pass("second", ends[1]);
        SHOW(recv(pair[1], text, 9, MSG_PEEK));
        get(39, 0);
        get(39, 0);
    }
    SHOW(read(ends[0], text, 9));
    close(pair[0]), close(pair[1]);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    use(40);
    write(pair[0], "early", 5);
    SHOW(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on));
    write(pair[0], "late", 4);
    get(39, 0);
    get(39, 0);
    use(40);
    write(pair[0], "x", 1);
    get(39, 0);
    SHOW(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &off, sizeof off));
    use(40);
    write(pair[0], "y", 1);
    get(39, 0);
    return 0;
}
