/* call: select, pselect6; covers: counts, descriptors and times that are wrong; the time left */
#include "check.h"

int main(void)
{
    fd_set set;
    struct timeval none = {0, 0}, wrong = {-1, 0}, wait = {0, 20000};
    struct timespec bad = {0, -1};
    FD_ZERO(&set);
    FD_SET(9, &set);
    SHOW(select(10, &set, NULL, NULL, &none));
    SHOW(select(-1, NULL, NULL, NULL, &none));
    SHOW(select(0, NULL, NULL, NULL, &wrong));
    SHOW(pselect(0, NULL, NULL, NULL, &bad, NULL));
    SHOW(syscall(SYS_select, 0, NULL, NULL, NULL, &wait));
    say("%ld %ld left\n", (long)wait.tv_sec, (long)wait.tv_usec);
    SHOW(syscall(SYS_select, 5, (void *)8, NULL, NULL, &none));
    return 0;
}
