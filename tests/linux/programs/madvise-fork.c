/* call: madvise, fork; covers: memory that a child does not get, or gets empty */
#include "check.h"

int main(void)
{
    char *gone = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *wiped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    gone[0] = wiped[0] = 1;
    SHOW(madvise(gone, 4096, MADV_DONTFORK));
    SHOW(madvise(wiped, 4096, MADV_WIPEONFORK));
    pid_t child = fork();
    if (child == 0) {
        say("%d\n", wiped[0]);
        SHOW(write(1, gone, 1));
        _exit(0);
    }
    wait_for(child);
    say("%d %d\n", gone[0], wiped[0]);
    return 0;
}
