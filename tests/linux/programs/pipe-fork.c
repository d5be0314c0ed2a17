/* call: pipe, fork; covers: parent and child talk both ways; also: musl dynamic */
#include "check.h"

static int down[2], up[2];

static void child(void)
{
    char text[20] = "";
    close(down[1]);
    while (read(down[0], text, 5) > 0)
        for (char *letter = text; *letter; letter++)
            *letter -= 32, write(up[1], letter, 1);
}

int main(void)
{
    char text[20] = "";
    pipe(down), pipe(up);
    pid_t id = make_child(child);
    close(down[0]), close(up[1]);
    write(down[1], "hello", 5);
    for (int index = 0; index < 5; index++)
        read(up[0], text + index, 1);
    say("%s\n", text);
    close(down[1]);
    SHOW(read(up[0], text, 1));
    wait_for(id);
    return 0;
}
