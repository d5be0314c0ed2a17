/* call: sendfile; covers: descriptors of the wrong kind, bad offsets */
#include "check.h"

int main(void)
{
    int ends[2];
    off_t wrong = -1;
    put_file("from", "0123456789");
    int from = open("from", O_RDONLY), to = open("to", O_RDWR | O_CREAT, 0644);
    pipe(ends);
    SHOW(sendfile(77, from, NULL, 1));
    SHOW(sendfile(to, 77, NULL, 1));
    SHOW(sendfile(from, from, NULL, 1));
    SHOW(sendfile(to, open("to", O_WRONLY), NULL, 1));
    SHOW(sendfile(to, from, &wrong, 1));
    SHOW(sendfile(to, from, (off_t *)8, 1));
    SHOW(sendfile(open("to", O_WRONLY | O_APPEND), from, NULL, 1));
    SHOW(sendfile(ends[1], from, NULL, 4));
    SHOW(sendfile(to, ends[0], NULL, 4));
    return 0;
}
