/* call: futex, mmap, fork; covers: waiting and waking between processes */
#include "check.h"

#include <linux/futex.h>

static int *word;

static void child(void)
{
    nap(20);
    *word = 1;
    SHOW(syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0));
}

int main(void)
{
    word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t id = make_child(child);
    long woken = syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0);
    wait_for(id);
    SHOW(woken);
    say("%d\n", *word);
    return 0;
}
