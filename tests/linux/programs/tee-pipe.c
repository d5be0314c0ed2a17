/* call: tee, vmsplice; covers: bytes that stay in the first pipe */
#include "check.h"

int main(void)
{
    int one[2], two[2];
    char text[20] = "";
    struct iovec piece = {"hello", 5};
    pipe(one), pipe(two);
    SHOW(vmsplice(one[1], &piece, 1, 0));
    SHOW(tee(one[0], two[1], 3, 0));
    SHOW(read(two[0], text, 10));
    say("%s\n", text);
    SHOW(read(one[0], text, 10));
    say("%s\n", text);
    SHOW(tee(one[0], two[1], 3, SPLICE_F_NONBLOCK));
    SHOW(tee(one[0], one[1], 3, 0));
    SHOW(tee(77, two[1], 3, 0));
    return 0;
}
