/* call: execve, fcntl; covers: what stays open, what is closed, positions; also: musl dynamic */
#include "check.h"

int main(int count, char **words)
{
    char text[4] = "";
    if (count > 1) {
        for (int fd = 3; fd < 8; fd++)
            say("%d: %d\n", fd, fcntl(fd, F_GETFD));
        read(3, text, 2);
        say("%s\n", text);
        return 0;
    }
    put_file("f", "abcdef");
    int fd = open("f", O_RDONLY), ends[2];
    read(fd, text, 2);
    open("f", O_RDONLY | O_CLOEXEC);
    pipe2(ends, O_CLOEXEC);
    dup(ends[0]);
    again("again");
    say("%s\n", error_name(errno));
    return 1;
}
