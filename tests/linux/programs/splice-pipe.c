/* call: splice; covers: file to pipe and back, offsets, errors */
#include "check.h"

int main(void)
{
    int ends[2];
    char text[20] = "";
    loff_t offset = 3;
    put_file("from", "0123456789");
    int from = open("from", O_RDONLY), to = open("to", O_RDWR | O_CREAT, 0644);
    pipe(ends);
    SHOW(splice(from, &offset, ends[1], NULL, 4, 0));
    say("offset %ld\n", (long)offset);
    SHOW(read(ends[0], text, 2));
    SHOW(splice(ends[0], NULL, to, NULL, 100, 0));
    show_file("to");
    SHOW(splice(from, NULL, to, NULL, 4, 0));
    SHOW(splice(from, NULL, ends[1], &offset, 4, 0));
    SHOW(splice(77, NULL, ends[1], NULL, 4, 0));
    SHOW(splice(ends[0], NULL, ends[1], NULL, 4, 0));
    SHOW(splice(ends[0], NULL, to, NULL, 4, SPLICE_F_NONBLOCK));
    SHOW(splice(from, NULL, ends[1], NULL, 0, 0));
    return 0;
}
