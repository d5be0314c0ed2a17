/* call: fork, openat, read, close, execve; covers: hundreds of files of their own go to children, each with its position */
#include "check.h"

enum { FILES = 300, FIRST = 3 };

static int sum(void)
{
    int sum = 0;
    for (int number = 0; number < FILES; number++) {
        unsigned char byte = 0;
        if (read(FIRST + number, &byte, 1) == 1)
            sum += byte * (number + 1) % 1000;
    }
    return sum;
}

static void grandchild(void)
{
    say("grandchild %d\n", sum());
    for (int number = 0; number < FILES; number++)
        close(FIRST + number);
    SHOW(dup(0));
}

static void child(void)
{
    say("child %d\n", sum());
    in_child(grandchild);
    SHOW(dup2(FIRST + 250, FIRST + 7));
    say("child %d\n", sum());
}

int main(int count, char **words)
{
    if (count > 1) {
        say("program %d\n", sum());
        return 0;
    }
    for (int number = 0; number < FILES; number++) {
        char name[16], text[8];
        snprintf(name, sizeof name, "f%d", number);
        for (int place = 0; place < 8; place++)
            text[place] = number * 7 + place * 31;
        int file = open(name, O_CREAT | O_RDWR, 0600);
        if (file != FIRST + number || write(file, text, 8) != 8 || lseek(file, 0, SEEK_SET) != 0)
            SHOW(file);
    }
    in_child(child);
    say("parent %d\n", sum());
    fcntl(FIRST + 100, F_SETFD, FD_CLOEXEC);
    again("again");
    return 1;
}
